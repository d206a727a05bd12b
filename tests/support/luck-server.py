#!/usr/bin/env python3
"""A Messages API whose answers are right by chance, the same chance each time: what is answered follows from
SEED, the system prompt, the text of the user and how often both were sent before.

luck-server.py LOG [SEED [steady]]          prints its port of loopback; steady: how often does not matter

A system prompt with "rate 0.7" is answered with "right" at that rate, else with "wrong". A text of the user
with "broken" is always answered with "wrong", one with "refused" by status 400. Each request is a line of
LOG: {"system", "user", "answer"}.
"""
import hashlib
import json
import re
import sys
import threading

import small_http

LOG = open(sys.argv[1], "a", encoding="utf-8", buffering=1)
SEED = sys.argv[2] if len(sys.argv) > 2 else "1"
LOCK = threading.Lock()
ASKED = {}


def text_of(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


class Handler(small_http.Handler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length"))))
        system, user = text_of(body.get("system")), text_of(body["messages"][-1]["content"])
        with LOCK:
            count = ASKED[system, user] = 1 if "steady" in sys.argv else ASKED.get((system, user), 0) + 1
        rate = float((re.search(r"rate ([0-9.]+)", system) or [0, "1"])[1])
        drawn = int.from_bytes(hashlib.sha256(f"{SEED}\n{system}\n{user}\n{count}".encode()).digest()[:8], "big") / 2**64
        answer = "wrong" if "broken" in user or drawn >= rate else "right"
        if "refused" in user:
            answer = None
        LOG.write(json.dumps({"system": system, "user": user, "answer": answer}) + "\n")
        if answer is None:
            self.answer(400, {"type": "error", "error": {"type": "invalid_request_error", "message": "refused"}})
        else:
            self.answer(200, {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
                              "content": [{"type": "text", "text": answer}], "stop_reason": "end_turn",
                              "usage": {"input_tokens": 1000, "output_tokens": 10}})

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = small_http.Server(Handler)
print(server.server_port, flush=True)
server.serve_forever()
