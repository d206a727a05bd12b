"""A server over HTTP whose answers have no end: endless.py MODE prints its port. MODE is what goes on for ever:
headers, interim (answers 1xx), trailers, error (the body of one), line (of a stream of events)."""
import socket
import sys
import threading

mode = sys.argv[1]
ok = b"HTTP/1.1 200 OK\r\n"
stream = ok + b"Content-Type: text/event-stream\r\n"
FIRST, MORE = {
    "headers": (ok, b"X-A: " + b"b" * 1000 + b"\r\n"),
    "interim": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "trailers": (stream + b"Transfer-Encoding: chunked\r\n\r\n5\r\n: hi\n\r\n0\r\n", b"X-A: " + b"b" * 1000 + b"\r\n"),
    "error": (b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nwhat ", b"x" * 65536),
    "line": (stream + b"Connection: close\r\n\r\ndata: ", b"x" * 65536),
}[mode]


def serve(client):
    got = b""
    try:
        while b"\r\n\r\n" not in got:
            piece = client.recv(65536)
            if not piece:
                return
            got += piece
        client.sendall(FIRST)
        while True:
            client.sendall(MORE)
    except OSError:
        client.close()


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(64)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
