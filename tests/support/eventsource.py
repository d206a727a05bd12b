"""A client of server-sent events as the HTML standard has it, with a bad connection:

    eventsource.py [--curl] SOCKET PATH LAST CUTS SEED

Reads PATH through a Unix socket, by itself or by curl, and comes again with Last-Event-ID whenever
the connection ends, or cannot be made; CUTS times it breaks it off itself, after a number of bytes
that SEED decides. Prints the data of each event that has an id, until one contains LAST; forgets
all that came before a reset. Then says on standard error how often it has connected."""
import random
import re
import socket
import subprocess
import sys
import time

use_curl = sys.argv[1] == "--curl"
path, url, last, cuts, seed = sys.argv[1 + use_curl:]
chance, cuts = random.Random(int(seed)), int(cuts)
events, last_id, connections, resets = [], "", 0, 0
deadline = time.monotonic() + 60 + cuts


def by_curl(most):
    """Yields the bytes of an answer's body, at most so many (None: all)."""
    header = ["-H", "Last-Event-ID: " + last_id] if last_id else []
    with subprocess.Popen(["curl", "-sN", "--fail", "--unix-socket", path, *header, "http://localhost" + url],
                          stdout=subprocess.PIPE) as curl:
        while data := curl.stdout.read1(65536 if most is None else min(most, 65536)):
            yield data
            most = most and most - len(data)
            if most == 0:
                break
        curl.kill()


def chunks_of(data):
    """The contents of the whole chunks, and of what has come of the next one."""
    body, at = b"", 0
    while found := re.compile(rb"([0-9a-f]+)\r\n").match(data, at):
        size = int(found[1], 16)
        body += data[found.end():found.end() + size]
        at = found.end() + size + 2
    return body


def by_socket(most):
    header = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
    with socket.socket(socket.AF_UNIX) as client:
        got, given = b"", 0
        try:
            client.settimeout(10)
            client.connect(path)
            client.sendall(f"GET {url} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
            while most is None or len(got) < most:
                data = client.recv(65536 if most is None else most - len(got))
                if not data:
                    break
                got += data
                head, blank, rest = got.partition(b"\r\n\r\n")
                if blank and head.startswith(b"HTTP/1.1 200 "):
                    body = chunks_of(rest)
                    yield body[given:]
                    given = len(body)
        except OSError:
            pass


def take(event):
    """False: it was the last."""
    global last_id, resets
    fields = [line.partition(":")[::2] for line in re.split("\r\n|\r|\n", event)]
    name = "".join(value.removeprefix(" ") for field, value in fields if field == "event")
    data = "\n".join(value.removeprefix(" ") for field, value in fields if field == "data")
    ids = [value.removeprefix(" ") for field, value in fields if field == "id"]
    last_id = ids[-1] if ids else last_id
    if name == "reset":
        events.clear()
        last_id, resets = "", resets + 1
    elif not name and data:
        events.append(data)
        return last not in data
    return True


going = True
while going:
    if time.monotonic() > deadline:
        sys.exit("it takes too long: " + str(len(events)))
    most = chance.randint(1, 2500) if cuts > 0 else None
    cuts -= 1
    connections += 1
    text, before = b"", len(events)
    for data in (by_curl if use_curl else by_socket)(most):
        text += data
        # Of an event that is not whole nothing counts.
        *whole, text = text.split(b"\n\n")
        going = all([take(event.decode()) for event in whole])
        if not going:
            break
    if most is None and len(events) == before:
        time.sleep(0.05)
sys.stdout.write("".join(data + "\n" for data in events))
print(connections, "connections,", resets, "resets", file=sys.stderr)
