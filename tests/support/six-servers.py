"""Six servers of models in one: six-servers.py PORT_FILE LOG. Each refuses with 400 what another one
gave: six-servers.py checks members, ids, signatures, schemas and texts, as the references of their
vendors demand. The first request to each gets a call of the tool `note`, with an id and with thoughts
in its own way; the second gets 503, but of the last server a text."""
import http.server
import json
import os
import re
import sys
import threading

ORDER = ["deepseek", "moonshot", "mistral", "messages", "gemini", "responses"]
asked = {name: 0 for name in ORDER}
lock = threading.Lock()


class Refused(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Refused(why)


def only(value, *names):
    need(set(value) <= set(names), f"unknown member of {sorted(value)}: only {sorted(names)}")


def schema(value, where):
    need(value.get("type") == "object" and "properties" in value, f"{where}: type object and properties")
    need(not {"$schema", "$id"} & set(value), f"{where}: $schema, $id")


def is_object(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def chat(body, ids, echo, parts=False):
    for tool in body.get("tools", []):
        schema(tool["function"]["parameters"], "parameters")
    for message in body["messages"]:
        if message["role"] == "assistant":
            only(message, "role", "content", "tool_calls", *echo)
            if isinstance(message.get("content"), list):
                for part in message["content"]:
                    need(part["type"] == "text" or parts and part["type"] == "thinking", "a part of another")
            for call in message.get("tool_calls", []):
                only(call, "id", "type", "function")
                only(call["function"], "name", "arguments")
                need(re.fullmatch(ids, call["id"]), f"id {call['id']!r}")
                need(is_object(call["function"]["arguments"]), "arguments")
        elif message["role"] == "tool":
            only(message, "role", "content", "tool_call_id")
            need(re.fullmatch(ids, message["tool_call_id"]), f"id {message['tool_call_id']!r}")


def messages(body):
    for tool in body.get("tools", []):
        schema(tool["input_schema"], "input_schema")
    for message in body["messages"]:
        need(message["content"], "an empty message")
        for block in message["content"]:
            block.pop("cache_control", None)
            kind = block["type"]
            if kind == "thinking":
                only(block, "type", "thinking", "signature")
                need(block.get("signature") == "messages", "a signature of another")
            elif kind == "text":
                only(block, "type", "text")
                need(block["text"].strip(), "a text of white space")
            elif kind == "tool_use":
                only(block, "type", "id", "name", "input")
                need(re.fullmatch("[a-zA-Z0-9_-]+", block["id"]), f"id {block['id']!r}")
                need(isinstance(block["input"], dict), "input")
            elif kind == "tool_result":
                only(block, "type", "tool_use_id", "content", "is_error")
                need(re.fullmatch("[a-zA-Z0-9_-]+", block["tool_use_id"]), "tool_use_id")
            else:
                raise Refused(kind)


def gemini(body):
    for content in body["contents"]:
        for part in content["parts"]:
            only(part, "text", "thought", "thoughtSignature", "functionCall", "functionResponse")
            need(part.get("thoughtSignature") in (None, "gemini", "skip_thought_signature_validator"),
                 "a signature of another")
            need(not part.get("thought") or part["text"] == "I, gemini", "a thought of another")
            if "functionCall" in part:
                only(part["functionCall"], "id", "name", "args")
                need(isinstance(part["functionCall"].get("args", {}), dict), "args")


def responses(body):
    for tool in body.get("tools", []):
        schema(tool["parameters"], "parameters")
    for item in body["input"]:
        kind = item["type"]
        if kind == "reasoning":
            need(item.get("encrypted_content") == "responses", "reasoning of another")
        elif kind == "function_call":
            only(item, "type", "id", "call_id", "name", "arguments", "status")
            need(re.fullmatch("[a-zA-Z0-9_-]{1,64}", item["call_id"]), f"call_id {item['call_id']!r}")
            need("id" not in item or item["id"].startswith("fc_"), "id of another")
            need(is_object(item["arguments"]), "arguments")
        elif kind == "function_call_output":
            need(re.fullmatch("[a-zA-Z0-9_-]{1,64}", item["call_id"]), "call_id")
        else:
            need(kind == "message", kind)


CHECKS = {
    "deepseek": lambda b: chat(b, ".{1,40}", ["reasoning_content"]),
    "moonshot": lambda b: chat(b, ".+", ["reasoning_content"]),
    "mistral": lambda b: chat(b, "[a-zA-Z0-9]{9}", [], parts=True),
    "messages": messages, "gemini": gemini, "responses": responses,
}


def data(*events):
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


def chat_call(identifier, **thoughts):
    call = {"index": 0, "id": identifier, "type": "function",
            "function": {"name": "note", "arguments": '{"n":1}'}}
    return data({"choices": [{"index": 0, "delta": {**thoughts}}]},
                {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})


def block(index, start, *deltas):
    return [{"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index}]


CALLS = {
    "deepseek": chat_call("call_00_deepseek", reasoning_content="hm"),
    "moonshot": chat_call("functions.note:0", reasoning_content=""),
    "mistral": chat_call("Ab1Cd2Ef3", content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
    "messages": data({"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
                     *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"},
                            {"type": "signature_delta", "signature": "messages"}),
                     *block(1, {"type": "text", "text": "\n\n"}),
                     *block(2, {"type": "tool_use", "id": "toolu_" + "x" * 60, "name": "note", "input": {}},
                            {"type": "input_json_delta", "partial_json": '{"n":1}'}),
                     {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}),
    "gemini": data({"candidates": [{"content": {"parts": [
        {"text": "I, gemini", "thought": True},
        {"functionCall": {"name": "note", "args": {"n": 1}}, "thoughtSignature": "gemini"}]}, "finishReason": "STOP"}]}),
    "responses": data({"type": "response.completed", "response": {"status": "completed", "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "responses"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "note", "arguments": '{"n":1}'}]}}),
}
LAST = data({"type": "response.completed", "response": {"status": "completed", "output": [
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "noted"}]}]}})


class Servers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        name = self.path.split("/")[1]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with lock:
            asked[name] += 1
            number = asked[name]
        status, answer = 200, CALLS[name]
        try:
            CHECKS[name](body)
            if number > 1:
                status, answer = (200, LAST) if name == ORDER[-1] else (503, "{}")
        except Refused as why:
            status, answer = 400, json.dumps({"error": {"message": f"{name}: {why}", "type": "invalid_request_error"}})
        with lock, open(sys.argv[2], "a") as log:
            log.write(json.dumps({"name": name, "status": status, "body": body}) + "\n")
        self.send_response(status)
        self.send_header("content-type", "text/event-stream" if status == 200 else "application/json")
        self.send_header("content-length", str(len(answer.encode())))
        self.end_headers()
        self.wfile.write(answer.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Servers)
server.daemon_threads = True
with open(sys.argv[1] + ".new", "w") as port:
    port.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
