"""Sends bytes as they are: raw.py PORT [SECONDS] <BYTES. Prints what comes back, until the other
side closes, or so long (2)."""
import socket
import sys
import time

wait = float(sys.argv[2]) if len(sys.argv) > 2 else 2
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(sys.stdin.buffer.read())
end = time.monotonic() + wait
while (left := end - time.monotonic()) > 0:
    connection.settimeout(left)
    try:
        got = connection.recv(65536)
    except (TimeoutError, ConnectionResetError):
        break
    if not got:
        print("[closed]")
        break
    sys.stdout.buffer.write(got)
    sys.stdout.flush()
