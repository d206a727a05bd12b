"""A model that leads itself through a workflow of two questions by the tools of awf-mcp, in the
streams of the Anthropic and the OpenAI Responses API: python3 tests/clis/gates-model.py RESULTS
prints its URL, and keeps what its calls have returned in the file RESULTS, a JSON array.

It has no script of answers: like any model it reads the tokens from the conversation. On its way it
tries what must be refused: to skip the first question, an answer that its schema allows and its
condition does not, and another answer to a question that is over."""
import http.server
import json
import sys


def next_call(results):
    """The tool that is called after these results, and its arguments; no tool: the last words."""
    asked = {r["prompt"]: r["continueToken"] for r in results if "continueToken" in r}
    if not results:
        return "start_workflow", {"workflow": "two", "input": "cake"}
    if len(results) > 6 or "Is cake right?" not in asked:
        return None, "I am lost."
    first, second = asked["Is cake right?"], asked.get("And true?", "")
    token, answer = [
        (first[:-1] + ("a" if first[-1] != "a" else "b"), "certainly"),
        (first, {"ok": False}),
        (first, {"ok": True}),
        (first, {"ok": False}),
        (second, "certainly"),
        (None, None),
    ][len(results) - 1]
    if token is None:
        return None, "It said: " + results[-1].get("output", "nothing").strip()
    return "continue_workflow", {"continueToken": token, "answer": answer}


def text_of(content):
    return content if isinstance(content, str) else "".join(c.get("text", "") for c in content or [])


def result_of(content):
    """The object that a tool has answered with; a CLI may put words before it."""
    text = text_of(content)
    if "{" not in text:
        return {"text": text}
    result = json.JSONDecoder().raw_decode(text[text.index("{"):])[0]
    # Codex of June 2026 gives an error in the block that it came in.
    return result_of(result["text"]) if result.get("type") == "text" else result


def anthropic(request):
    results = [result_of(block.get("content"))
               for message in request["messages"] if isinstance(message["content"], list)
               for block in message["content"] if block.get("type") == "tool_result"]
    tool, said = next_call(results) if request.get("tools") else (None, "Two questions")
    if tool:
        block = {"type": "tool_use", "id": f"t{len(results)}", "name": "mcp__awf__" + tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": said}
    return results, [
        {"type": "message_start", "message": {
            "id": "m", "type": "message", "role": "assistant", "model": request["model"], "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "usage": {"output_tokens": 5}, "delta": {
            "stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}},
        {"type": "message_stop"}]


def responses(request):
    results = [result_of(item["output"]) for item in request["input"]
               if item.get("type") == "function_call_output"]
    tool, said = next_call(results)
    if tool:
        item = {"type": "function_call", "id": f"f{len(results)}", "call_id": f"c{len(results)}",
                "namespace": "mcp__awf", "name": tool, "arguments": json.dumps(said), "status": "completed"}
    else:
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": said, "annotations": []}]}
    whole = {"id": "r", "object": "response", "status": "completed", "output": [item],
             "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}
    return results, [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole}]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, kind="text/plain", data=b""):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.reply(404)

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.partition("?")[0]
        answer = {"/v1/messages": anthropic, "/v1/responses": responses}.get(path)
        if answer is None:
            self.reply(404)
            return
        results, events = answer(json.loads(body))
        if results:
            with open(sys.argv[1], "w", encoding="utf-8") as out:
                json.dump(results, out)
        self.reply(200, "text/event-stream", "".join(
            f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
