#!/usr/bin/env python3
"""A server of models for tests of endpoints, on a port of loopback, whose base URL it prints:

vendor-server.py LOG REPLIES [--unix PATH] [--tls CERT KEY] [--client-ca CA]

REPLIES has a line of JSON for each reply; requests get them in order, and the last one again and
again. A reply is an object of
    status   200
    headers  {}
    body     JSON, or a text, that is the whole answer
    events   instead of it: what the stream has, each an object (data: …), [NAME, OBJECT] for one
             with an event's name, or a text that is sent as it is
Each request is a line of LOG: method, path, headers (names in lower case), body (JSON), sigv4 (whether
the signature is right, with SECRET as the secret key; null: it is not signed so).
GET .../models is answered with a list of two. --client-ca: clients show a certificate that CA has signed."""
import json
import socketserver
import sys
import threading

import small_http


def arguments():
    rest, named = [], {}
    words = iter(sys.argv[1:])
    for word in words:
        if word == "--unix":
            named["unix"] = next(words)
        elif word == "--tls":
            named["tls"] = (next(words), next(words))
        elif word == "--client-ca":
            named["ca"] = next(words)
        else:
            rest.append(word)
    return rest, named


(LOG, REPLIES), OPTIONS = arguments()
LOCK = threading.Lock()
STATE = {"next": 0}


def signed_right(method, path, headers, body):
    """By AWS's description: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html"""
    said = headers.get("authorization", "")
    if not said.startswith("AWS4-HMAC-SHA256 "):
        return None
    import hashlib  # these take long, and few servers need them
    import hmac
    import urllib.parse
    fields = dict(part.strip().split("=", 1) for part in said[len("AWS4-HMAC-SHA256 "):].split(","))
    scope = fields["Credential"].split("/")[1:]
    names = fields["SignedHeaders"].split(";")
    where, _, query = path.partition("?")
    canonical = "\n".join([
        method, urllib.parse.quote(where, safe="/-_.~"), "&".join(sorted(query.split("&"))),
        "".join(f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in names),
        ";".join(names), hashlib.sha256(body).hexdigest()])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], "/".join(scope),
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4SECRET"
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    right = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    # The host and whatever is AWS's own have to be signed.
    needed = {"host"} | {name for name in headers if name.startswith("x-amz-")}
    return right == fields["Signature"] and needed <= set(names) <= set(headers)


def bytes_of(reply):
    if "events" in reply:
        text = ""
        for event in reply["events"]:
            if isinstance(event, str):
                text += event
            elif isinstance(event, list):
                text += f"event: {event[0]}\ndata: {json.dumps(dict(event[1], type=event[0]))}\n\n"
            else:
                text += f"data: {json.dumps(event)}\n\n"
        return text.encode(), "text/event-stream"
    body = reply.get("body", {})
    return (body if isinstance(body, str) else json.dumps(body)).encode(), "application/json"


class Handler(small_http.Handler):
    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            content = json.loads(body)
        except ValueError:
            content = None
        with LOCK:
            with open(LOG, "a", encoding="utf-8") as log:
                print(json.dumps({"method": self.command, "path": self.path, "headers": headers,
                                  "body": content,
                                  "sigv4": signed_right(self.command, self.path, headers, body)}), file=log)
            replies = [json.loads(line) for line in open(REPLIES, encoding="utf-8") if line.strip()]
            reply = replies[min(STATE["next"], len(replies) - 1)]
            if self.command == "GET" and reply.get("status", 200) == 200:
                reply = {"body": {"object": "list", "data": [{"id": "one"}, {"id": "two"}]}}
            else:
                STATE["next"] += 1
        data, kind = bytes_of(reply)
        self.send_response(reply.get("status", 200))
        for name, value in {"content-type": kind, "content-length": str(len(data)),
                            **reply.get("headers", {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET = handle_request


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def main():
    if "unix" in OPTIONS:
        server = UnixServer(OPTIONS["unix"], Handler)
        url = "http://localhost"
    else:
        server = small_http.Server(Handler)
        url = f"http://127.0.0.1:{server.server_port}"
    if "tls" in OPTIONS:
        import ssl
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*OPTIONS["tls"])
        if "ca" in OPTIONS:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(OPTIONS["ca"])
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = "https" + url[4:]
    print(url, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
