"""Requests that awf-serve refuses: refused.py OPENAPI SOCKET PORT ROUNDS. Every operation of the
document with every reason to refuse it: no token, a wrong one, another role's, one that is for runs of
other names, a bad method, path, parameter, type, body or length, a body that breaks off, another Host or
Origin, a range that there is not. Tokens are in TOKEN_ROLE and TOKEN_named, a run that they are not for is
RUN. Prints how many of them were answered with which status."""
import collections
import json
import os
import socket
import sys

document, unix, port, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
token = lambda name: "Authorization: Bearer " + os.environ["TOKEN_" + name]
host = f"Host: 127.0.0.1:{port}"
json_type = "Content-Type: application/json"
counts = collections.Counter()


def ask(lines, body=b"", cut=False, local=False):
    s = socket.socket(socket.AF_UNIX) if local else socket.socket()
    s.settimeout(20)
    s.connect(unix if local else ("127.0.0.1", port))
    head = "\r\n".join(lines + ["Connection: close", "", ""]).encode()
    try:
        s.sendall(head + body)
        if cut:
            s.close()
            counts["cut"] += 1
            return
        answer = s.recv(65536)
        # What goes on has begun; the rest of an answer is not looked at.
        counts[answer[9:12].decode() or "none"] += 1
    except OSError:
        counts["reset"] += 1
    s.close()


def each(method, template, run):
    path = template.replace("{run}", run).replace("{seq}", "99999999").replace("{sha256}", "0" * 64).replace("{file}", "none.js")
    path = path.replace("{name}", "none").replace("{call}", "none")
    line = lambda target=path, how=method: f"{how} {target} HTTP/1.1"
    length = "Content-Length: 2"
    with_body = [json_type, length] if method in ("POST", "PUT") else []
    body = b"{}" if with_body else b""
    ask([line(), host] + with_body, body)
    ask([line(), host, "Authorization: Bearer awf_" + "x" * 43] + with_body, body)
    ask([line(), host, "Authorization: Basic eDp5"] + with_body, body)
    ask([line(), host, "Cookie: awf_session_%d=none" % port] + with_body, body)
    for name in ("read", "decide", "ingest", "start", "named"):
        if method == "POST" and path.endswith("/session/end"):
            break
        # Of what a role may do, only what comes to nothing.
        ask([line(path + "?nosuch=1"), host, token(name)] + with_body, body)
        ask([line(path.replace(run, "@nothing")), host, token(name)] + with_body, body)
        ask([line(), host, token(name), "Range: bytes=999999999-"] + with_body, body)
    ask([line(how="BREW"), host])
    ask([line(how="DELETE"), host, token("decide")])
    for bad in (path + "/%zz", path + "/%00", path + "/..%2f..", "/%2e%2e" + path, path * 9, path + "?limit=x&limit=y", "x" + path, path + "?a=%"):
        ask([line(bad), host, token("read")] + with_body, body)
    ask([line(), "Host: evil.example", token("decide")] + with_body, body)
    ask([line(), host, "Origin: http://evil.example", token("decide")] + with_body, body)
    ask([line(), host, "Last-Event-ID: none", "Range: bytes=x", token("named")] + with_body, body)
    ask([line(), host, "X: " + "x" * 20000])
    ask([line(), host, "X : y"])
    ask([line(), host, "Expect: something"])
    ask([line(), host, length, "Transfer-Encoding: chunked", token("decide")], b"{}")
    if not with_body:
        return
    for name in ("decide", "ingest", "start"):
        for kind, text in (("application/json", b"{"), ("application/json", b'{"nosuch":1}'), ("application/json", b"[" * 3000),
                           ("application/json", b'{"code":"x","token":"y"}'), ("application/x-ndjson", b'{"seq":1}\n{"seq":'),
                           ("text/plain", b"x"), ("application/octet-stream", b"other bytes")):
            ask([line(path.replace(run, "@nothing") if name == "decide" else path), host, token(name), "Content-Type: " + kind,
                 f"Content-Length: {len(text)}"], text)
        ask([line(), host, token(name), json_type, "Content-Length: 99999999999"])
        ask([line(), host, token(name), json_type, "Content-Length: 1000"], b'{"a":', cut=True)
        ask([line(), host, token(name), json_type, "Transfer-Encoding: chunked"], b"5;x=y\r\nabcde\r\n")
        ask([line(), host, token(name), json_type, "Transfer-Encoding: chunked"], b"5\r\nabc", cut=True)
    ask([line(), host, "X-Hub-Signature-256: sha256=" + "0" * 64] + with_body, body)


with open(document, encoding="utf-8") as file:
    paths = json.load(file)["paths"]
for _ in range(rounds):
    for path, item in paths.items():
        for method in item:
            if method in ("get", "put", "post", "delete", "patch"):
                each(method.upper(), path, os.environ["RUN"])
print(json.dumps(counts, sort_keys=True))
