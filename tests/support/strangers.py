"""What a program that listens does with connections that are of no use: strangers.py ADDRESS KIND CHECK...

ADDRESS is HOST:PORT or unix:PATH. KIND says what is spoken there: "http", where everybody may begin a request;
"line", where each connection says lines; "secret", where the first line shows who somebody is. CHECK is a
command that the program's own user asks with: it has to end with 0 whatever others do. The program whose memory is
looked at is who listens at the Unix socket, else PID. Bodies are posted to BODY_PATH, with BODY_FIELD, if that is set,
as a further field of the head. For each limit there is a line on stdout: its name, and "held", or what was wrong."""
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time

address, kind, check = sys.argv[1], sys.argv[2], sys.argv[3:]
IDLE = 1100
PATIENCE = 50  # seconds, many times what any limit is where tests run
HEAD = {"http": b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", "line": b'{"data":"', "secret": b"00"}[kind]
BODY = (f"POST {os.environ.get('BODY_PATH', '/')} HTTP/1.1\r\nHost: {address if address[0].isdigit() else 'localhost'}\r\n"
        f"{os.environ.get('BODY_FIELD', 'X: y')}\r\nContent-Type: application/json\r\n").encode()
KEPT = {"http": 160, "line": 80, "secret": 4}[kind]  # MiB that one of them may cost

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def connect():
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        end = time.monotonic() + 5
        while True:
            try:
                s.connect(address[5:])
                break
            except BlockingIOError:  # its queue is full
                if time.monotonic() > end:
                    s.close()
                    return None
                time.sleep(0.005)
    else:
        host, port = address.rsplit(":", 1)
        s = socket.create_connection((host, int(port)), timeout=5)
        s.setblocking(False)
    return s


def resident():
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize() >> 20


def is_over(s):
    """Whether the program has ended the connection, whatever it said before."""
    try:
        while select.select([s], [], [], 0)[0]:
            if s.recv(65536) == b"":
                return True
    except OSError:
        return True
    return False


def hung_up(s):
    """The same of one that has not read what came."""
    poll = select.poll()
    poll.register(s, select.POLLHUP | select.POLLERR)
    return bool(poll.poll(0))


def serves():
    return subprocess.run(check, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=2, timeout=60, check=False).returncode == 0


def feed(begin, piece, pause, reads=True):
    """A connection that begins so and says more of the same, until it is ended: "held" if it is. One of the program's
    own that does not read may wait as long as it likes, and costs no more meanwhile."""
    s, before, own = connect(), resident(), not reads and "BODY_FIELD" in os.environ
    if s is None:
        return "is not let in"
    end, left = time.monotonic() + (5 if own else PATIENCE), begin
    while time.monotonic() < end:
        try:
            left = left[s.send(left):]
        except BlockingIOError:
            time.sleep(0.002)
        except OSError:
            break
        if is_over(s) if reads else select.select([], [], [s], 0)[2] or hung_up(s):
            break
        if resident() - before > KEPT:
            return f"takes {resident() - before} MiB"
        if not left:
            left = piece
            time.sleep(pause)
    else:
        if not own:
            return "is kept for ever"
    s.close()
    return "held" if serves() else "the program's own is not served afterwards"


def idle():
    kept = []
    for i in range(IDLE):
        s = connect()
        if s is None:
            break
        kept.append(s)
        try:
            s.send([b"", HEAD[:1], HEAD][i % 3] or b"")
        except OSError:
            pass
    before, got = resident(), [serves() for _ in range(3)]
    for s in kept:
        s.close()
    return "held" if all(got) else f"{len(kept)} of them keep the program's own from being served: {got}"


def half_closed():
    kept = [s for s in (connect() for _ in range(20)) if s is not None]
    for s in kept:
        try:
            s.send(HEAD)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    end = time.monotonic() + PATIENCE
    while kept and time.monotonic() < end:
        kept = [s for s in kept if not is_over(s)]
        time.sleep(0.02)
    return "held" if not kept and serves() else f"{len(kept)} are kept"


pid = int(os.environ.get("PID", 0))
if address.startswith("unix:"):
    probe = connect()
    pid = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    probe.close()
with open(f"/proc/{pid}/maps") as f:
    if "libasan" in f.read():  # which keeps what was freed for a while
        KEPT += 600
if not serves():
    sys.exit("the program's own is not served at all")
say = lambda name, what: print(f"{name}: {what}", flush=True)
say("slow head", feed(HEAD, b"x", 0.05))
say("huge head", feed(HEAD, b"x" * 65536, 0))
if kind == "http":
    say("slow body", feed(BODY + b"Content-Length: 4000\r\n\r\n{", b"x", 0.05))
    say("huge body", feed(BODY + b"Content-Length: 999999999999\r\n\r\n{", b"x" * 65536, 0))
    say("huge body in chunks", feed(BODY + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n", 0))
if kind == "http":
    field = os.environ.get("BODY_FIELD", "X: y")
    request = f"GET {os.environ.get('READ_PATH', '/')} HTTP/1.1\r\nHost: {address if address[0].isdigit() else 'localhost'}\r\n{field}\r\n\r\n"
    say("never reads", feed(b"", request.encode() * 100, 0, reads=False))
say("half-closed", half_closed())
say("idle", idle())
