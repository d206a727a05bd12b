"""Clients that take their time, or too much: hold.py PORT KIND [COUNT]. KIND is what of a request is
sent, a byte every 20 ms: head, body, chunks; "fast" bodies and chunks as fast as they are taken;
"none": not a byte. Prints for each of COUNT clients (1) the status it was answered with (- for
none), and how many seconds it lasted."""
import select
import socket
import sys
import time

port, kind = int(sys.argv[1]), sys.argv[2]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 1
fast = kind.startswith("fast-")
host = f"Host: 127.0.0.1:{port}\r\n"
post = f"POST /api/session HTTP/1.1\r\n{host}Content-Type: application/json\r\n"


def pieces():
    """What is sent at once, then what is sent piece by piece, for ever."""
    match kind.removeprefix("fast-"):
        case "head":
            yield b""
            yield from (bytes([c]) for c in f"GET /healthz HTTP/1.1\r\n{host}".encode())
            while True:
                yield b"X-A: b\r\n" if fast else b"x"
        case "body":
            yield (post + f"Content-Length: {10**9 if fast else 4000}\r\n\r\n").encode()
        case "chunks":
            yield (post + "Transfer-Encoding: chunked\r\n\r\n").encode()
            while True:
                yield b"1000\r\n" + b"x" * 4096 + b"\r\n" if fast else b"1\r\nx\r\n"
        case "none":
            yield b""
            while True:
                yield b""
    while True:
        yield b"x" * (65536 if fast else 1)


class Client:
    def __init__(self):
        self.begun = time.monotonic()  # before the server can know of it
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.pieces = pieces()
        self.left = next(self.pieces)
        self.got = b""
        self.ended = None

    def send(self):
        if not self.left:
            self.left = next(self.pieces)
        try:
            self.left = self.left[self.socket.send(self.left, socket.MSG_DONTWAIT):]
        except BlockingIOError:
            pass
        except OSError:
            self.left = b""  # what came before is still to be read

    def read(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.got += data
        if not data:
            self.ended = time.monotonic() - self.begun


clients = [Client() for _ in range(count)]
end = time.monotonic() + 20
while (alive := [c for c in clients if c.ended is None]) and time.monotonic() < end:
    for client in alive:
        client.send()
    for client in alive:
        if select.select([client.socket], [], [], 0)[0]:
            client.read()
    if not fast:
        time.sleep(0.02)
for client in clients:
    status = client.got.split(b" ", 2)[1].decode() if client.got else "-"
    print(status, "for ever" if client.ended is None else f"{client.ended:.2f}")
