#!/usr/bin/env python3
"""A collector of OTLP/HTTP for tests: otlp-collector.py FILE [STATUS...]. Prints where it listens;
appends each request's body to FILE, a line each, and answers 200, after one of each STATUS, which
takes nothing. "partial" rejects a span. Headers go to FILE.headers."""
import http.server
import json
import sys

statuses = sys.argv[2:]


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = statuses.pop(0) if statuses else "200"
        answer = {}
        if status == "partial":
            answer = {"partialSuccess": {"rejectedSpans": "1", "errorMessage": "too old"}}
        if status in ("200", "partial"):
            with open(sys.argv[1], "a", encoding="utf-8") as out:
                print(json.dumps(json.loads(body)), file=out)
            with open(sys.argv[1] + ".headers", "a", encoding="utf-8") as out:
                print(self.path, self.headers["Content-Type"], self.headers.get("x-key"), file=out)
        else:
            answer = {"code": 14, "message": "not now"}
        data = json.dumps(answer).encode()
        self.send_response(200 if status == "partial" else int(status))
        if status == "429":
            self.send_header("Retry-After", "0.1")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
print("http://127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
