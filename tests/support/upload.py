"""Sends what comes on stdin to an awf-serve as it comes, and prints the answer, with its head, as
soon as that is there: upload.py PORT TOKEN PATH. It need not end for that."""
import os
import socket
import sys
import threading

port, token, path = sys.argv[1:]
connection = socket.create_connection(("127.0.0.1", int(port)))
connection.sendall(("POST %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\n"
                    "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
                    % (path, port, token)).encode())


def send():
    try:
        while True:
            piece = os.read(0, 65536)
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            if not piece:
                break
    except OSError:
        pass


threading.Thread(target=send, daemon=True).start()
connection.settimeout(20)
answer = b""
while got := connection.recv(65536):
    answer += got
    head, _, content = answer.partition(b"\r\n\r\n")
    if b"\r\nContent-Length: %d\r\n" % len(content) in head + b"\r\n":
        break
sys.stdout.buffer.write(answer)
sys.stdout.flush()
os._exit(0)
