#!/usr/bin/env python3
"""An HTTP server for what a proxy passes on, on a port of loopback that it prints:

api-server.py LOG

Each request goes into LOG, as a line of JSON with its fields and body as they came. What is
answered is said by the path:

.../chat/completions   a stream; with stream_options.include_usage as OpenAI does it
.../packed/messages     a message, compressed; with "stream" as a stream
.../marked/messages     one behind a byte order mark
.../fails              429
.../slow               a stream of ticks, until the reader is gone
.../large              /large?bytes=N
.../cut                half of an answer
.../deaf               none: the connection is closed
.../nothing            its head
.../echoes             the key, as a field too
.../echoes-bytes       the key among bytes that are no UTF-8
.../echoes-escaped     the key, each of its characters escaped as JSON has it
.../two-lengths        an answer with two lengths
.../chunks             one in chunks, with a length besides that is another
.../unended/messages   a stream that ends as HTTP has it, and before the message does
anything else          {"method", "bytes"}
"""
import json
import sys
import threading
import time

import small_http

LOG = open(sys.argv[1], "a", encoding="utf-8", buffering=1)
LOCK = threading.Lock()
PIECES = ["Hel", "lo"]


def chunk_of(delta, reason=None):
    return {"id": "c", "object": "chat.completion.chunk", "model": "gpt-4o-mini",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


class Handler(small_http.Handler):
    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def begin(self, status, length=None, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def chat(self, asked):
        spends = (asked.get("stream_options") or {}).get("include_usage")
        self.begin(200, Content_Type="text/event-stream")
        for event in [*(chunk_of({"content": text}) for text in PIECES), chunk_of({}, "stop")]:
            if spends:
                event["usage"] = None
            self.piece(b"data: %s\n\n" % json.dumps(event).encode())
        if spends:
            self.piece(b"data: %s\n\n" % json.dumps({**chunk_of({}), "choices": [], "usage": {
                "prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}).encode())
        self.piece(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def message(self, streams):
        message = {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                   "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn",
                   "usage": {"input_tokens": 100000, "output_tokens": 10}}
        if not streams:
            return json.dumps(message).encode()
        events = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
                  {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                  {"type": "content_block_delta", "index": 0,
                   "delta": {"type": "text_delta", "text": "Hello"}},
                  {"type": "content_block_stop", "index": 0},
                  {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                   "usage": {"output_tokens": 10}},
                  {"type": "message_stop"}]
        return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)

    def answer(self):
        body = self.body()
        where, _, query = self.path.partition("?")
        with LOCK:
            LOG.write(json.dumps({"method": self.command, "path": self.path,
                                  "headers": dict(self.headers.items()), "body": body.decode("latin-1")}) + "\n")
        if where.endswith("/chat/completions"):
            self.chat(json.loads(body))
        elif where.endswith("/packed/messages"):
            import gzip
            data = gzip.compress(self.message(json.loads(body).get("stream")))
            self.begin(200, len(data), Content_Encoding="gzip", Content_Type="text/event-stream"
                       if json.loads(body).get("stream") else "application/json")
            self.wfile.write(data)
        elif where.endswith("/swollen/messages"):
            import gzip
            data = gzip.compress(bytes(300 << 20), 1)
            self.begin(200, len(data), Content_Encoding="gzip", Content_Type="application/json")
            self.wfile.write(data)
        elif where.endswith("/marked/messages"):
            data = b"\xef\xbb\xbf" + self.message(False)
            self.begin(200, len(data), Content_Type="application/json")
            self.wfile.write(data)
        elif where.endswith("/fails"):
            data = b'{"error":{"type":"rate_limit_error","message":"later"}}'
            self.begin(429, len(data), Content_Type="application/json", Retry_After="1")
            self.wfile.write(data)
        elif where.endswith("/slow"):
            self.begin(200, Content_Type="text/event-stream")
            try:
                for number in range(1000):
                    self.piece(b"data: %d\n\n" % number)
                    time.sleep(0.01)
            except OSError:
                with LOCK:
                    LOG.write('{"gone":true}\n')
                self.close_connection = True
        elif where.endswith("/large"):
            size = int(query.partition("bytes=")[2])
            self.begin(200, size, Content_Type="application/octet-stream")
            for _ in range(size // 65536):
                self.wfile.write(b"\xff" * 65536)
            with LOCK:
                LOG.write('{"sent":%d}\n' % size)
        elif where.endswith("/echoes"):
            data = json.dumps({"key": self.headers["x-api-key"]}).encode()
            self.begin(200, len(data), Content_Type="application/json", X_Key=self.headers["x-api-key"])
            self.wfile.write(data)
        elif where.endswith("/echoes-bytes"):
            data = b"\xff\xfe" + self.headers["x-api-key"].encode() + b"\xff"
            self.begin(200, len(data), Content_Type="application/octet-stream")
            self.wfile.write(data)
        elif where.endswith("/echoes-escaped"):
            data = b'{"key":"%s"}' % b"".join(b"\\u%04x" % byte for byte in self.headers["x-api-key"].encode())
            self.begin(400, len(data), Content_Type="application/json")
            self.wfile.write(data)
        elif where.endswith("/two-lengths"):
            self.begin(200, 5, Content_Length=9)
            self.wfile.write(b"hello")
        elif where.endswith("/chunks"):
            self.begin(200, Content_Length=9)
            self.piece(b"hello")
            self.wfile.write(b"0\r\n\r\n")
        elif where.endswith("/unended/messages"):
            self.begin(200, Content_Type="text/event-stream")
            self.piece(b'data: {"type":"ping"}\n\n')
            self.wfile.write(b"0\r\n\r\n")
        elif where.endswith("/deaf"):
            self.close_connection = True
        elif where.endswith("/cut"):
            self.begin(200, 1000, Content_Type="application/json")
            self.wfile.write(b"{" * 500)
            self.wfile.flush()
            self.close_connection = True
        elif where.endswith("/nothing"):
            self.begin(200, 1000, Content_Type="application/json")
            self.close_connection = True
        else:
            data = json.dumps({"method": self.command, "bytes": len(body)}).encode()
            self.begin(200, len(data), Content_Type="application/json", Set_Cookie="secret=1")
            if self.command != "HEAD":
                self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_DELETE = do_PUT = answer


server = small_http.Server(Handler)
print(server.server_port, flush=True)
server.serve_forever()
