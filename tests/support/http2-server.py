#!/usr/bin/env python3
"""A server of the Chat Completions API by HTTP/2 alone, which refuses requests as RFC 9113 has it:

http2-server.py PORT_FILE LOG CERTIFICATE KEY

The last word of what the user says in a request is how it is answered:

ok            at once
goaway:N      once N of these have come by the first connection: the last that it has processed is the
              first of them, which is answered, and the connection is closed
refused:N     the first N times by REFUSED_STREAM
dropped       the first time the connection is closed without a word

LOG has a line of JSON for each request: {"said", "connection", "answer": "ok", "goaway", "refused", "dropped"}.
"""
import collections
import json
import os
import socket
import ssl
import struct
import sys
import threading

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
REFUSED_STREAM = 7
# ":status 200", "content-type: text/event-stream"
HEAD = b"\x88\x0f\x10\x11text/event-stream"
LOCK = threading.Lock()
COUNT = collections.Counter()
LOG = open(sys.argv[2], "a", encoding="utf-8", buffering=1)


def event(delta, reason=None):
    return b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [
        {"index": 0, "delta": delta, "finish_reason": reason}]}).encode() + b"\n\n"


class Connection:
    def __init__(self, plain, number, context):
        self.number, self.plain, self.context = number, plain, context
        self.bodies, self.waiting = {}, []

    def send(self, kind, flags, stream, payload=b""):
        self.socket.sendall(struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload)

    def read(self, count):
        got = b""
        while len(got) < count:
            more = self.socket.recv(count - len(got))
            if not more:
                raise ConnectionError
            got += more
        return got

    def log(self, said, what):
        LOG.write(json.dumps({"said": said, "connection": self.number, "answer": what}) + "\n")

    def answer(self, stream, said):
        self.log(said, "ok")
        self.send(HEADERS, END_HEADERS, stream, HEAD)
        self.send(DATA, END_STREAM, stream, event({"content": "said " + said}) + event({}, "stop") + b"data: [DONE]\n\n")

    def take(self, stream, body):
        """What is done about a request; False: the connection ends."""
        said = json.loads(body)["messages"][-1]["content"]
        said = said if isinstance(said, str) else said[-1]["text"]
        how, _, argument = said.split()[-1].partition(":")
        with LOCK:
            COUNT[said] += 1
            seen = COUNT[said]
        if how == "refused" and seen <= int(argument):
            self.log(said, how)
            self.send(RST_STREAM, 0, stream, struct.pack("!I", REFUSED_STREAM))
        elif how == "dropped" and seen == 1:
            self.log(said, how)
            return False
        elif how == "goaway" and self.number == 1:
            self.waiting.append((stream, said))
            if len(self.waiting) < int(argument):
                return True
            first = min(self.waiting)
            for each in self.waiting:
                if each != first:
                    self.log(each[1], how)
            self.send(GOAWAY, 0, 0, struct.pack("!II", first[0], 0))
            self.answer(*first)
            return False
        else:
            self.answer(stream, said)
        return True

    def serve(self):
        self.socket = self.context.wrap_socket(self.plain, server_side=True)
        self.read(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        self.send(SETTINGS, 0, 0)
        self.send(WINDOW_UPDATE, 0, 0, struct.pack("!I", 1 << 30))
        goes_on = True
        while goes_on:
            head = self.read(9)
            kind, flags, stream = struct.unpack("!BBI", head[3:])
            payload = self.read(int.from_bytes(head[:3], "big"))
            if kind == SETTINGS and not flags & ACK:
                self.send(SETTINGS, ACK, 0)
            elif kind == PING and not flags & ACK:
                self.send(PING, ACK, 0, payload)
            elif kind == DATA:
                assert not flags & PADDED
                self.bodies[stream] = self.bodies.get(stream, b"") + payload
                if flags & END_STREAM:
                    goes_on = self.take(stream, self.bodies.pop(stream))
        # So that what was not read does not reset the connection before the client has read all.
        self.socket.unwrap().shutdown(socket.SHUT_WR)

    def run(self):
        try:
            self.serve()
        except (ConnectionError, ssl.SSLError, OSError):
            pass
        finally:
            self.plain.close()


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as port:
        port.write(str(listener.getsockname()[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    number = 0
    while True:
        number += 1
        threading.Thread(target=Connection(listener.accept()[0], number, context).run, daemon=True).start()


main()
