#!/usr/bin/env python3
"""Answers of model APIs, each of another form, that are given and asked for:

streams.py serve SEED COUNT [FILE...]   gives them, on a port of loopback that it prints
streams.py ask SEED COUNT [FILE...]     asks for all of them, where the environment says that the
                                        APIs are, and prints a line for each: what came of it

The first are the recorded streams of the files (the data of an event a line, in a directory that is
called as the API); the others follow from the seed: texts of characters of one to four bytes, calls
of tools, thinking, errors in the midst of a stream or instead of it, lines that end in CR LF or CR,
comments, data of several lines, whole answers, gzip though nobody asked for it. How they go over the
wire is chance, another time: in chunks of any size, with extensions and trailers, of a known length or
to the end of the connection, in pieces that are flushed anywhere, or cut off.
"""
import concurrent.futures
import gzip
import hashlib
import json
import os
import random
import socket
import sys
import threading
import time
import urllib.parse
import zlib

PATHS = {"anthropic": "/v1/messages", "openai": "/chat/completions", "openai-responses": "/responses",
         "google": "/v1beta/models/m:streamGenerateContent?alt=sse"}
APIS = list(PATHS)
WORDS = ["a", "Grüße", "日本語", "😀", "👩‍👩‍👧", "naïve ", "\n", "\"quoted\"", "\\n", "data: ", "\r\n", "…", "\u2028", "[DONE]",
         "ﷺ", "x" * 300, "\u0000", "usage", "\"usage\":null", "𝔘𝔫𝔦", " "]


class Stream:
    """The answer of number n: what it says, and what it is like over any wire."""

    def __init__(self, seed, n, files):
        self.rnd = rnd = random.Random(f"{seed}.{n}")
        self.status, self.type, self.coding = 200, "text/event-stream", None
        self.asks = rnd.random() < 0.5          # for its usage, of a chat
        if n < len(files):
            self.api = os.path.basename(os.path.dirname(files[n])).replace("openai-chat", "openai")
            with open(files[n], encoding="utf-8") as lines:
                self.events = [json.loads(line) for line in lines]
            self.asks = True
            if self.api == "openai":
                self.events.append("[DONE]")
        else:
            self.api = APIS[n % len(APIS)]
            self.events = getattr(self, self.api.replace("-", "_"))()
        self.counts = self.api == "openai" and not self.asks  # its usage is asked for by the proxy
        self.style()
        kind = rnd.random() if n >= len(files) else 1
        if kind < 0.1:
            self.whole(rnd.choice([400, 404, 429, 500, 503, 529]))
        elif kind < 0.2:
            self.whole(200)
        if rnd.random() < 0.15 and not self.counts:
            self.coding = "gzip"
        self.framing = rnd.choice(["chunked", "chunked", "chunked", "length", "close"])
        # Where it is cut off, of 1.
        self.cut = rnd.random() if rnd.random() < 0.08 and not self.counts and self.framing != "close" else None

    # ---- what models say ----

    def text(self, most=12):
        return "".join(self.rnd.choice(WORDS) for _ in range(self.rnd.randint(1, most)))

    def pieces(self, text):
        while text:
            size = self.rnd.randint(1, max(1, len(text)))
            yield text[:size]
            text = text[size:]

    def fails(self, events, error):
        """Perhaps an error takes the place of what was to come."""
        if self.rnd.random() < 0.12:
            del events[self.rnd.randint(1, len(events)):]
            events.append(error)
        return events

    def anthropic(self):
        rnd, events = self.rnd, []
        events.append({"type": "message_start", "message": {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [],
                       "stop_reason": None, "usage": {"input_tokens": 3, "output_tokens": 1}}})
        for index in range(rnd.randint(1, 4)):
            kind = rnd.choice(["text", "thinking", "tool_use"])
            start = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""},
                     "tool_use": {"id": f"t{index}", "name": "look", "input": {}}}[kind]
            events.append({"type": "content_block_start", "index": index, "content_block": {"type": kind, **start}})
            said = json.dumps({"a": self.text()}) if kind == "tool_use" else self.text()
            member, name = {"text": ("text", "text_delta"), "thinking": ("thinking", "thinking_delta"),
                            "tool_use": ("partial_json", "input_json_delta")}[kind]
            for piece in self.pieces(said):
                events.append({"type": "content_block_delta", "index": index, "delta": {"type": name, member: piece}})
                if rnd.random() < 0.1:
                    events.append({"type": "ping"})
            if kind == "thinking":
                events.append({"type": "content_block_delta", "index": index, "delta": {"type": "signature_delta", "signature": "s=="}})
            events.append({"type": "content_block_stop", "index": index})
        events.append({"type": "message_delta", "delta": {"stop_reason": rnd.choice(["end_turn", "tool_use", "max_tokens"])},
                       "usage": {"output_tokens": 9}})
        events.append({"type": "message_stop"})
        return self.fails(events, {"type": "error", "error": {"type": "overloaded_error", "message": "Überlast"}})

    def openai(self):
        rnd, events = self.rnd, []

        def chunk(delta, reason=None):
            events.append({"id": "c", "object": "chat.completion.chunk", "model": "m",
                           "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        chunk({"role": "assistant", "content": ""})
        for piece in self.pieces(self.text()):
            chunk({rnd.choice(["content", "content", "reasoning_content"]): piece})
        for index in range(rnd.randint(0, 2)):
            chunk({"tool_calls": [{"index": index, "id": f"t{index}", "type": "function", "function": {"name": "look", "arguments": ""}}]})
            for piece in self.pieces(json.dumps({"a": self.text()})):
                chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        chunk({}, rnd.choice(["stop", "tool_calls", "length"]))
        return self.fails(events, {"error": {"message": "Überlast", "type": "server_error"}}) + ["[DONE]"]

    def openai_responses(self):
        rnd, events = self.rnd, []
        response = {"id": "r", "object": "response", "model": "m", "status": "in_progress", "output": [], "usage": None}
        events.append({"type": "response.created", "response": response})
        output = []
        for index in range(rnd.randint(1, 3)):
            text = self.text()
            if rnd.random() < 0.5:
                item = {"type": "message", "id": f"i{index}", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": text, "annotations": []}]}
                delta = "response.output_text.delta"
            else:
                text = json.dumps({"a": text})
                item = {"type": "function_call", "id": f"i{index}", "call_id": f"t{index}", "name": "look", "arguments": text, "status": "completed"}
                delta = "response.function_call_arguments.delta"
            events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress"}})
            for piece in self.pieces(text):
                events.append({"type": delta, "output_index": index, "item_id": f"i{index}", "content_index": 0, "delta": piece})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
            output.append(item)
        events.append({"type": "response.completed", "response": {**response, "status": "completed", "output": output,
                       "usage": {"input_tokens": 3, "output_tokens": 9, "total_tokens": 12}}})
        for number, event in enumerate(events):
            event["sequence_number"] = number
        return self.fails(events, {"type": "error", "code": "server_error", "message": "Überlast", "param": None})

    def google(self):
        rnd, events = self.rnd, []

        def chunk(part, reason=None):
            candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
            events.append({"candidates": [{**candidate, **({"finishReason": reason} if reason else {})}], "modelVersion": "m",
                           "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": len(events)}})
        for piece in self.pieces(self.text()):
            chunk({"text": piece, **({"thought": True} if rnd.random() < 0.3 else {})})
        if rnd.random() < 0.4:
            chunk({"functionCall": {"name": "look", "args": {"a": self.text()}}})
        chunk({"text": ""}, rnd.choice(["STOP", "MAX_TOKENS", "SAFETY"]))
        return self.fails(events, {"error": {"code": 503, "message": "Überlast", "status": "UNAVAILABLE"}})

    # ---- as bytes ----

    def style(self):
        rnd = self.rnd
        self.end = rnd.choice(["\n", "\n", "\r\n"] if self.counts else ["\n", "\n", "\r\n", "\r"])
        self.space = rnd.choice([" ", ""])
        self.ascii = rnd.random() < 0.5
        self.between = rnd.choice([(",", ":"), (", ", ": ")])
        self.several = rnd.random() < 0.15 and not self.counts
        self.mark = rnd.random() < 0.05 and not self.counts
        self.unended = rnd.random() < 0.1 and not self.counts
        self.names = rnd.random() < 0.8
        self.extra = rnd.random() < 0.3
        self.chance = rnd.random()

    def whole(self, status):
        self.status, self.type, self.counts = status, "application/json; charset=utf-8", False
        self.body = json.dumps({"error": {"type": "api_error", "message": self.text()}} if status != 200 else
                               {"content": [{"type": "text", "text": self.text()}], "usage": {"input_tokens": 1, "output_tokens": 1},
                                "choices": [{"message": {"content": self.text()}, "finish_reason": "stop"}]},
                               ensure_ascii=self.ascii, indent=1 if self.several else None).encode("utf-8", "surrogatepass")
        self.events = None

    def stream(self, counted):
        rnd, out = random.Random(self.chance), []
        for event in self.events:
            if self.extra and rnd.random() < 0.2:
                out.append(rnd.choice([": ping", ":", "retry: 3", ": Grüße"]) + self.end * 2)
            if counted and event != "[DONE]" and "error" not in event:
                event = {**event, "usage": None}
            if counted and event == "[DONE]":
                usage = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [],
                         "usage": {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}}
                out.append(f"data:{self.space}{json.dumps(usage, separators=self.between)}{self.end * 2}")
            lines = []
            if isinstance(event, dict) and "type" in event and self.names:
                lines.append(f"event:{self.space}{event['type']}")
            if self.extra and rnd.random() < 0.2:
                lines.append(f"id:{self.space}{len(out) if not counted else 7}" if not self.counts else "id: 7")
            data = event if isinstance(event, str) else json.dumps(
                event, ensure_ascii=self.ascii, **({"indent": 1} if self.several else {"separators": self.between}))
            lines += [f"data:{self.space}{line}" for line in data.split("\n")]
            out.append(self.end.join(lines) + self.end * 2)
        text = ("\ufeff" if self.mark else "") + "".join(out)
        return (text[:-len(self.end)] if self.unended else text).encode("utf-8", "surrogatepass")

    def bytes(self, counted):
        body = self.body if self.events is None else self.stream(counted)
        return gzip.compress(body, mtime=0) if self.coding else body


def all_of(words):
    seed, count, files = words[0], int(words[1]), words[2:]
    return [Stream(seed, n, files) for n in range(count)]


# ---- giving ----

def read_request(connection, before):
    while b"\r\n\r\n" not in before:
        piece = connection.recv(65536)
        if not piece:
            return None, None, b""
        before += piece
    head, _, body = before.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(65536)
    return head, body[:length], body[length:]


def framed(body, framing, cut, rnd):
    """The body over the wire; cut: how much of it comes."""
    if framing != "chunked":
        return body if cut is None else body[:cut]
    out, at, end = b"", 0, len(body) if cut is None else cut
    most = rnd.choice([3, 40, 700, 20000])
    while at < end:
        size = min(rnd.randint(1, most), len(body) - at)
        digits = rnd.choice(["%x", "%X", "%04x"]) % size
        out += digits.encode() + rnd.choice([b"", b"", b";a", b';a="b;c\\"d"', b" ; x=1"]) + b"\r\n" + body[at:min(at + size, end)]
        at += size
        if at <= end:
            out += b"\r\n"
    if cut is None:
        out += rnd.choice([b"0", b"0", b"000", b"0;last"]) + b"\r\n" + rnd.choice([b"", b"", b"X-Sum: 7\r\nX-More: \xc3\xa4\r\n"]) + b"\r\n"
    return out


def give(connection, stream, asked):
    rnd = random.Random()
    body = stream.bytes(stream.counts and b'"include_usage":true' in asked.replace(b" ", b""))
    head = b""
    if rnd.random() < 0.1:
        head += b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    fields = [f"Content-Type: {stream.type}", "X-Odd:   two  words ", "request-id: req_7"]
    if stream.coding:
        fields.append(f"Content-Encoding: {stream.coding}")
    fields.append({"chunked": "Transfer-Encoding: chunked", "length": f"Content-Length: {len(body)}", "close": "Connection: close"}[stream.framing])
    head += f"HTTP/1.1 {stream.status} Some Reason\r\n".encode() + "".join(f"{field}\r\n" for field in fields).encode() + b"\r\n"
    cut = None if stream.cut is None else int(stream.cut * len(body))
    wire = head + framed(body, stream.framing, cut, rnd)
    # Byte for byte, in some pieces, or in one.
    most = rnd.choice([1, 7, 100, 1500, 100000])
    while most < 100000 and len(wire) / most > 1500:
        most *= 10
    at = 0
    while at < len(wire):
        size = rnd.randint(1, most)
        connection.sendall(wire[at:at + size])
        at += size
        if rnd.random() < 0.03:
            time.sleep(rnd.random() / 500)
    return stream.framing != "close" and cut is None


def serve_one(connection, streams):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        head, asked, rest = read_request(connection, b"")
        while head is not None:
            if not give(connection, streams[json.loads(asked)["number"]], asked):
                return
            head, asked, rest = read_request(connection, rest)


def serve(streams):
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection, streams), daemon=True).start()


# ---- asking ----

OF_CONNECTIONS = {"connection", "transfer-encoding", "content-length", "keep-alive", "trailer"}


class Reader:
    def __init__(self, connection):
        self.connection, self.bytes = connection, b""

    def more(self):
        piece = self.connection.recv(random.choice([1, 9, 500, 65536]))
        self.bytes += piece
        return piece

    def line(self):
        while b"\n" not in self.bytes:
            if not self.more():
                raise EOFError
        line, _, self.bytes = self.bytes.partition(b"\n")
        return line.rstrip(b"\r")

    def head(self):
        status = int(self.line().split()[1])
        fields = []
        while line := self.line():
            name, _, value = line.partition(b":")
            fields.append((name.lower().decode(), value.strip()))
        return (status, fields) if status >= 200 else self.head()

    def exactly(self, size, out):
        while size > 0:
            if not self.bytes and not self.more():
                raise EOFError
            out += self.bytes[:size]
            size, self.bytes = size - len(self.bytes[:size]), self.bytes[size:]

    def body(self, fields, out):
        if fields.get("transfer-encoding") == b"chunked":
            while size := int(self.line().split(b";")[0], 16):
                self.exactly(size, out)
                assert self.line() == b""
            while self.line():
                pass
        elif "content-length" in fields:
            self.exactly(int(fields["content-length"]), out)
        else:
            while self.bytes or self.more():
                self.exactly(len(self.bytes), out)


def ask(n, stream):
    base, key, field = {
        "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "x-api-key: {}"),
        "google": ("GEMINI_BASE_URL", "GEMINI_API_KEY", "x-goog-api-key: {}"),
    }.get(stream.api, ("OPENAI_BASE_URL", "OPENAI_API_KEY", "authorization: Bearer {}"))
    url = urllib.parse.urlsplit(os.environ[base])
    body = {"model": "m", "number": n, "stream": True, **({"stream_options": {"include_usage": True}} if stream.asks else {})}
    body = json.dumps(body).encode()
    with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
        connection.sendall(f"POST {url.path.rstrip('/')}{PATHS[stream.api]} HTTP/1.1\r\nHost: {url.netloc}\r\n{field.format(os.environ[key])}\r\n"
                           f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        reader, came, end = Reader(connection), bytearray(), "whole"
        status, fields = reader.head()
        try:
            reader.body(dict(fields), came)
        except EOFError:
            end = "cut off"
    # What came compressed is unpacked on the way, or here.
    if ("content-encoding", b"gzip") in fields:
        came = zlib.decompressobj(31).decompress(came)
    fields = [field for field in fields if field[0] not in OF_CONNECTIONS and field[0] != "content-encoding"]
    return f"{n} {stream.api} {status} {fields} {len(came)} {hashlib.sha256(came).hexdigest()} {end}"


def main():
    streams = all_of(sys.argv[2:])
    if sys.argv[1] == "serve":
        serve(streams)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for line in pool.map(ask, range(len(streams)), streams):
            print(line)


main()
