"""Clients that ask and then only listen: crowd.py SOCKET COUNT PATH..., so many for each path. Says
"ready" once each has the head of its answer, and on each line of input how many are still
connected and how many bytes they got since the last one; ends with its input."""
import select
import socket
import sys

clients = []
for path in sys.argv[3:] * int(sys.argv[2]):
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    clients.append(client)
for client in clients:
    if not client.recv(65536).startswith(b"HTTP/1.1 200 "):
        sys.exit("a client is not answered")
print("ready", flush=True)
for _ in sys.stdin:
    got = 0
    while ready := select.select(clients, [], [], 0)[0]:
        for client in ready:
            data = client.recv(65536)
            got += len(data)
            if not data:
                clients.remove(client)
    print(len(clients), got, flush=True)
