#!/usr/bin/env python3
"""Serves an MCP server that speaks lines over HTTP, and misbehaves on command.

usage: mcp-http.py PORT-FILE LOG OPTION... -- COMMAND...

The port is written to PORT-FILE; a line for each request, {method, path, headers, body}, is
appended to LOG. Each session has a COMMAND of its own. Options: json (answers are no streams),
sse (the transport of 2024-11-05 alone), modern (2026-07-28: no sessions, headers are compared),
token=T (401 without it), absent (404), redirect=URL, status=N (of tools/call), cut (streams of tools/call end
before the answer, which is had with Last-Event-ID), drop (they end, and nothing is had),
forget (the session is gone at the second tools/call), empty, page (no JSON), elsewhere (the
endpoint of the old transport), tell (a stream of what the server says by itself),
nosession, batch."""
import http.server
import json
import os
import queue
import subprocess
import sys
import threading

split = sys.argv.index("--")
options = dict((a.split("=", 1) + [""])[:2] for a in sys.argv[3:split])
command = sys.argv[split + 1:]
log = open(sys.argv[2], "a")
lock = threading.Lock()
sessions = {}


class Session:
    """A child, and who waits for what it says."""

    def __init__(self, name):
        self.name, self.calls, self.kept = name, 0, {}
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.waiting, self.stream, self.ended = {}, queue.Queue(), False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            message = json.loads(line)
            with lock:
                waits = None
                if "method" not in message:
                    waits = self.waiting.pop(json.dumps(message.get("id")), None)
                elif "progressToken" in message.get("params", {}):
                    waits = next(iter(self.waiting.values()), None)
            (waits or self.stream).put(line.strip())
        with lock:
            self.ended = True
            for waits in self.waiting.values():
                waits.put(None)

    def ask(self, message):
        waits = queue.Queue()
        with lock:
            if "id" in message and "method" in message:
                self.waiting[json.dumps(message["id"])] = waits
            try:
                self.child.stdin.write(json.dumps(message) + "\n")
                self.child.stdin.flush()
            except BrokenPipeError:
                self.ended = True
            # Nobody reads an answer any more.
            if self.ended:
                waits.put(None)
        return waits


def decoded(value):
    import base64
    if value is not None and value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode()
    return value


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    begun = 0

    def log_message(self, *args):
        pass

    def note(self, body):
        with lock:
            headers = {k.lower(): v for k, v in self.headers.items()}
            log.write(json.dumps({"method": self.command, "path": self.path, "headers": headers,
                                  "body": body}) + "\n")
            log.flush()

    def answer(self, status, body="", kind="application/json", **headers):
        data = body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin_stream(self, **headers):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def event(self, data, name=None, number=None, retry=None):
        text = "" if name is None else "event: %s\n" % name
        text += "" if number is None else "id: %s\n" % number
        text += "" if retry is None else "retry: %d\n" % retry
        self.wfile.write((text + "data: %s\n\n" % data).encode())
        self.wfile.flush()

    def refused(self):
        if "redirect" in options:
            self.answer(307, "", "text/plain", Location=options["redirect"])
        elif "token" in options and self.headers.get("Authorization") != "Bearer " + options["token"]:
            self.answer(401, "who are you?\n", "text/plain", WWW_Authenticate="Bearer")
        elif "absent" in options:
            self.answer(404, "nothing here\n", "text/plain")
        else:
            return False
        return True

    def session(self):
        name = self.headers.get("Mcp-Session-Id")
        return sessions.get(name) if name is not None else sessions.get("only")

    def do_DELETE(self):
        self.note(None)
        s = sessions.pop(self.headers.get("Mcp-Session-Id"), None)
        if s is not None:
            s.child.stdin.close()
        self.answer(200)

    def do_GET(self):
        self.note(None)
        if self.refused():
            return
        last = self.headers.get("Last-Event-ID")
        if "sse" in options:
            s = Session(str(len(sessions)))
            sessions[s.name] = s
            self.begin_stream()
            where = "http://127.0.0.2:9/x" if "elsewhere" in options else "/messages?session=" + s.name
            self.event(where, "endpoint")
            while True:
                line = s.stream.get()
                if line is None:
                    self.close_connection = True
                    return
                try:
                    self.event(line, "message")
                except OSError:
                    s.child.stdin.close()
                    return
        s = self.session()
        if last is not None and s is not None and "cut" in options:
            self.begin_stream()
            self.event(s.kept[last].get(), number=last + "b")
            return
        if "tell" not in options or s is None:
            self.answer(405, "", "text/plain")
            return
        self.begin_stream()
        while True:
            line = s.stream.get()
            try:
                self.event(line, number=1)
            except OSError:
                return

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        message = json.loads(body)
        self.note(message)
        if self.refused():
            return
        if "sse" in options:
            if not self.path.startswith("/messages?session="):
                self.answer(405, "no\n", "text/plain")
                return
            s = sessions[self.path.split("=", 1)[1]]
            if "drop" in options and message.get("method") == "tools/call":
                self.answer(202, "Accepted", "text/plain")
                s.stream.put(None)
                return
            with lock:
                s.child.stdin.write(json.dumps(message) + "\n")
                s.child.stdin.flush()
            self.answer(202, "Accepted", "text/plain")
            return
        method = message.get("method")
        if "modern" in options and self.modern(message):
            return
        if method == "initialize" and "modern" not in options:
            name = "only" if "nosession" in options else "s%d" % Handler.begun
            Handler.begun += 1
            sessions[name] = Session(name)
            s = sessions[name]
        else:
            s = self.session()
            if s is None:
                self.answer(404, "no such session\n", "text/plain")
                return
        if method == "tools/call":
            s.calls += 1
            if "status" in options:
                self.answer(int(options["status"]), "out of order\n", "text/plain", Retry_After="7")
                return
            if "forget" in options and s.calls == 2 and s.name == "s0":
                sessions.pop(s.name)
                self.answer(404, "no such session\n", "text/plain")
                return
            if "empty" in options or "page" in options:
                self.answer(200, "" if "empty" in options else "<html>", "application/json")
                return
        waits = s.ask(message)
        if "id" not in message or "method" not in message:
            self.answer(202)
            return
        headers = {} if s.name == "only" or method != "initialize" else {"Mcp_Session_Id": s.name}
        if "json" in options:
            lines = []
            while not lines or "method" in json.loads(lines[-1]):
                line = waits.get()
                if line is None:
                    return
                lines.append(line)
            text = lines[-1]
            self.answer(200, "[%s]" % ",\n".join(lines) if "batch" in options else text, **headers)
            return
        self.begin_stream(**headers)
        if method == "tools/call" and ("cut" in options or "drop" in options):
            s.kept[str(s.calls)] = waits
            if "cut" in options:
                self.event("", number=s.calls, retry=10)
            return
        self.wfile.write(b": hello\r\n\r\n")
        while True:
            line = waits.get()
            if line is None:
                return
            try:
                self.event(line.replace("{", "{\ndata: ", 1), "message", 7)
            except OSError:
                return
            if "method" not in json.loads(line):
                return

    def modern(self, message):
        """What a server of 2026-07-28 refuses; True: it has."""
        method, params = message.get("method"), message.get("params", {})
        if "only" not in sessions:
            sessions["only"] = Session("only")
        version = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
        if version is None:
            self.answer(400, json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": {
                "code": -32022, "message": "unsupported protocol version"}}))
            return True
        want = {"MCP-Protocol-Version": version, "Mcp-Method": method}
        if method == "tools/call":
            want["Mcp-Name"] = params["name"]
            for name in ("region", "text"):
                if params["name"] == "mirrored" and name in params["arguments"]:
                    want["Mcp-Param-" + name.capitalize()] = str(params["arguments"][name])
        for name, value in want.items():
            if decoded(self.headers.get(name)) != value:
                self.answer(400, json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": {
                    "code": -32020, "message": "%s is %s, not %s" % (name, self.headers.get(name), value)}}))
                return True
        return False


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
