#!/usr/bin/python3
"""A Messages API that ties each thought to what was sent before it, as Anthropic's reference says
(platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks): the system prompt,
the tools and every block before it, earlier thoughts among them; marks for caches do not count. A
request in which something of that has changed, or a thought between others is left out, is refused
with 400. What it answers follows from SEED, the path of the request's URL and the number of the
answer: thoughts, texts, white space, calls of the tools that are offered, what the API itself ran.

usage: prefix-server.py SEED URL_FILE DIRECTORY   (binds a port of 127.0.0.1, writes its URL)

Of a path /NAME/FLAGS/v1/messages, NAME is a conversation; f among the FLAGS: it fails once, with a
status that ends the call. Each request is a line of DIRECTORY/NAME: {"path", "status", "thoughts":
sent back, "given": that were given so far, "why"}.
"""
import hashlib
import json
import random
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

READS = {"claude-opus-5-5": {"claude-opus-5-5"}, "claude-sonnet-5-5": {"claude-sonnet-5-5", "claude-opus-5-5"}}
TEXTS = ["\n\n", " ", "I look.", "Done.", "Größe \u2028 \"x\" \\ /", "\u00a0", "a\nb\n"]
lock = threading.Lock()


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k != "cache_control"}
    return [plain(v) for v in value] if isinstance(value, list) else value


class Chain:
    """What a thought is bound to."""

    def __init__(self, body):
        system = body.get("system") or ""
        if isinstance(system, list):
            system = "".join(part["text"] for part in system)
        self.digest = hashlib.sha256()
        self.add(system)
        self.add(body.get("tools") or [])

    def add(self, value):
        self.digest.update(json.dumps(plain(value), sort_keys=True).encode() + b"\n")

    def now(self):
        return self.digest.hexdigest()


def signature(thought):
    return thought.get("signature") if thought["type"] == "thinking" else thought.get("data")


def check(body):
    """Why the request is refused, or None; the thoughts in it; the chain to its end."""
    chain, thoughts, calls, models = Chain(body), 0, {}, READS.get(body["model"], {body["model"]})
    if not body.get("messages"):
        return "messages: at least one message is required", 0, chain
    for i, message in enumerate(body["messages"]):
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not content:
            return f"messages.{i}: all messages must have non-empty content", 0, chain
        chain.add(message["role"])
        for j, block in enumerate(content):
            kind = block["type"]
            if kind == "text" and not block["text"].strip():
                return f"messages.{i}.content.{j}: text content blocks must contain non-whitespace text", 0, chain
            if kind in ("thinking", "redacted_thinking"):
                thoughts += 1
                model, _, bound = (signature(block) or "").partition(":")
                if message["role"] != "assistant" or not bound:
                    return f"messages.{i}.content.{j}: Invalid `signature` in `thinking` block", 0, chain
                # What this model cannot read is dropped without an error.
                if model in models and bound != chain.now():
                    return (f"messages.{i}.content.{j}: Invalid `signature` in `thinking` block. The block is "
                            "bound to a different conversation.", 0, chain)
            if kind == "tool_use":
                if not re.fullmatch("[a-zA-Z0-9_-]+", block["id"]) or block["id"] in calls:
                    return f"messages.{i}.content.{j}.tool_use.id", 0, chain
                calls[block["id"]] = False
            if kind == "tool_result":
                if calls.get(block["tool_use_id"]) is not False:
                    return f"messages.{i}.content.{j}: unexpected `tool_use_id`", 0, chain
                calls[block["tool_use_id"]] = True
            chain.add(block)
    if not all(calls.values()):
        return "messages: `tool_use` ids were found without `tool_result` blocks", 0, chain
    return None, thoughts, chain


def choose_input(rng, tool, text):
    if tool == "look":
        return rng.choice(['{"city":"Oslo"}', '{ "city": "Stra\\u00dfe\\/1", "n": 1.50e1 }', '{"city":"x","a":[{"c":1,"b":2}]}'])
    if tool in ("continue_workflow", "finish_workflow"):
        # The token of the present phase is told last.
        tokens = re.findall(r'token(?: \\*"|\\*"\s*:\s*\\*")([0-9a-f]{32})', text)
        return json.dumps({"token": tokens[-1] if tokens else "", "output": "it is cold"})
    return "{}"


def answer(rng, body, chain, number, last):
    """Blocks as they come, with the pieces of each, and the reason for the end."""
    blocks, model, text = [], body["model"], json.dumps(body["messages"])
    chain.add("assistant")
    none = body.get("tool_choice", {}).get("type") == "none"
    tools = [] if none else [tool["name"] for tool in body.get("tools") or []]
    names = [name for name in tools if name != "finish_workflow"] if not last else \
        [name for name in tools if name.endswith("_workflow")]
    reason = "end_turn"

    def add(block, pieces, whole):
        chain.add(whole)
        blocks.append((block, pieces))

    for _ in range(rng.choice([0, 1, 1, 2])):
        bound = f"{model}:{chain.now()}"
        if rng.random() < 0.2:
            block = {"type": "redacted_thinking", "data": bound}
            add(block, [], block)
        else:
            said = rng.choice(["", "Let me see.", "\n"])
            add({"type": "thinking", "thinking": "", "signature": ""},
                [{"type": "thinking_delta", "thinking": said}, {"type": "signature_delta", "signature": bound}],
                {"type": "thinking", "thinking": said, "signature": bound})
        if rng.random() < 0.6:
            said = rng.choice(TEXTS)
            add({"type": "text", "text": ""}, [{"type": "text_delta", "text": said}], {"type": "text", "text": said})
    if rng.random() < 0.1:
        use = {"type": "server_tool_use", "id": f"srv_{number}", "name": "web_search", "input": {"query": "x"}}
        add(dict(use, input={}), [{"type": "input_json_delta", "partial_json": '{"query":"x"}'}], use)
        result = {"type": "web_search_tool_result", "tool_use_id": f"srv_{number}",
                  "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "e"}]}
        add(result, [], result)
        cited = {"type": "text", "text": "So it is.", "citations": [{"type": "web_search_result_location", "url": "u"}]}
        add({"type": "text", "text": "", "citations": []},
            [{"type": "text_delta", "text": "So it is."}, {"type": "citations_delta", "citation": cited["citations"][0]}], cited)
    if rng.random() < 0.08 and not last:
        block = {"type": "compaction", "content": "What was before."}
        add({"type": "compaction", "content": ""}, [{"type": "compaction_delta", "content": block["content"]}], block)
        reason = "compaction"
    elif names and (last or rng.random() < 0.85):
        reason = "tool_use"
        for k in range(rng.choice([1, 1, 2]) if "look" in names else 1):
            name = rng.choice(names) if k == 0 else "look"
            given = choose_input(rng, name, text)
            block = {"type": "tool_use", "id": f"toolu_{number}_{k}", "name": name, "input": {}}
            if rng.random() < 0.2:
                block["caller"] = {"type": "direct"}
            half = len(given) // 2
            add(block, [{"type": "input_json_delta", "partial_json": given[:half]},
                        {"type": "input_json_delta", "partial_json": given[half:]}], dict(block, input=json.loads(given)))
            if not name == "look":
                break
    if not blocks or (reason == "end_turn" and rng.random() < 0.9):
        said = rng.choice(TEXTS[2:5])
        add({"type": "text", "text": ""}, [{"type": "text_delta", "text": said}], {"type": "text", "text": said})
    return blocks, reason


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, kind, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, kind, why):
        self.send(status, "application/json", json.dumps({"type": "error", "error": {"type": kind, "message": why}}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name, flags = self.path.split("/")[1:3]
        with lock:
            state = self.server.states.setdefault(name, {"answers": 0, "failed": False, "given": 0})
            number = state["answers"]
            rng = random.Random(f"{self.server.seed} {name} {number}")
            why, thoughts, chain = check(body)
            fails = "f" in flags and not state["failed"] and why is None and number >= 1 and rng.random() < 0.5
            note = {"path": self.path, "status": 400 if why else 401 if fails else 200, "thoughts": thoughts,
                    "given": state["given"], "why": why}
            with open(f"{self.server.directory}/{name}", "a") as log:
                log.write(json.dumps(note) + "\n")
            if fails:
                state["failed"] = True
            elif not why:
                state["answers"] += 1
                blocks, reason = answer(rng, body, chain, number, number >= 5)
                state["given"] += sum("thinking" in block["type"] for block, _ in blocks)
        if why:
            return self.refuse(400, "invalid_request_error", why)
        if fails:
            return self.refuse(401, "authentication_error", "invalid x-api-key")
        events = [("message_start", {"message": {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": None, "usage": {"input_tokens": 10, "output_tokens": 1}}})]
        for index, (block, pieces) in enumerate(blocks):
            events.append(("content_block_start", {"index": index, "content_block": block}))
            events += [("content_block_delta", {"index": index, "delta": piece}) for piece in pieces]
            events.append(("content_block_stop", {"index": index}))
        events += [("message_delta", {"delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}), ("message_stop", {})]
        self.send(200, "text/event-stream",
                  "".join(f"event: {kind}\ndata: {json.dumps(dict(data, type=kind))}\n\n" for kind, data in events))


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.seed, server.states, server.directory = sys.argv[1], {}, sys.argv[3]
    with open(sys.argv[2], "w") as file:
        file.write(f"http://127.0.0.1:{server.server_address[1]}\n")
    server.serve_forever()


main()
