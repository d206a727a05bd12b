#!/usr/bin/env python3
"""Holds a server against its OpenAPI document: what it answers is what the document says.

openapi.py DOCUMENT URL COVERED auto SAMPLES  for each operation the requests that follow from
                        the document alone: as it is meant, without a token, with another role's,
                        with an unknown parameter, for a run that is not there ...
openapi.py DOCUMENT URL COVERED table         requests from stdin, a line each:
                        STATUS METHOD PATH [as=ROLE] [body=JSON|file=PATH] [type=TYPE]
                        [HEADER: VALUE]...
openapi.py DOCUMENT URL COVERED check         fails if a documented status was never answered

Tokens are in TOKEN_ROLE. COVERED is a file that keeps what was answered."""
import http.client
import json
import os
import re
import shlex
import sys
import time
import urllib.parse

import jsonschema

STREAM_SECONDS = 1.5
METHODS = ("get", "put", "post", "delete", "patch")
failures = []


class Document:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.whole = json.load(file)

    def resolve(self, node):
        while "$ref" in node:
            target = self.whole
            for part in node["$ref"].split("/")[1:]:
                target = target[part]
            node = target
        return node

    def operations(self):
        for path, item in self.whole["paths"].items():
            for method in METHODS:
                if method in item:
                    yield method, path, item[method]

    def find(self, method, path):
        """The operation that a path is for: of several the one with more words of its own."""
        found = None
        for own, template, operation in self.operations():
            pattern = re.sub(r"\{[^}]*\}", "[^/]+", template)
            if own == method and re.fullmatch(pattern, path):
                rank = template.count("{")
                if found is None or rank < found[0]:
                    found = rank, template, operation
        return found[1:] if found else (None, None)

    def valid(self, schema, value, what):
        root = {"$schema": "https://json-schema.org/draft/2020-12/schema",
                "components": self.whole["components"], "allOf": [schema]}
        for error in jsonschema.Draft202012Validator(root).iter_errors(value):
            where = "/".join(str(part) for part in error.absolute_path)
            failures.append("%s: /%s: %s" % (what, where, error.message[:300]))
            return


def events(text):
    """Name and data of each message."""
    for block in text.split("\n\n"):
        fields = [line.split(": ", 1) for line in block.split("\n") if ": " in line and line[0] != ":"]
        data = [value for name, value in fields if name == "data"]
        if data:
            yield dict(fields).get("event", "message"), json.loads("\n".join(data))


class Server:
    def __init__(self, document, url, covered):
        self.document, self.address, self.covered = document, urllib.parse.urlsplit(url).netloc, covered

    def send(self, method, path, role, body, headers):
        connection = http.client.HTTPConnection(self.address, timeout=20)
        fields = dict(headers)
        if role:
            fields["Authorization"] = "Bearer " + os.environ["TOKEN_" + role]
        connection.putrequest(method.upper(), path, skip_host="Host" in fields)
        if body is not None and "Content-Length" not in fields:
            fields["Content-Length"] = str(len(body))
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        text = b""
        # Of a stream without an end a part is enough.
        until = time.monotonic() + STREAM_SECONDS
        while True:
            if response.getheader("Content-Type") == "text/event-stream" and connection.sock:
                left = until - time.monotonic()
                if left <= 0:
                    break
                connection.sock.settimeout(left)
            try:
                part = response.read1(65536)
            except TimeoutError:
                break
            if not part:
                break
            text += part
        connection.close()
        return response, text

    def ask(self, status, method, path, role=None, body=None, headers=None):
        """Makes a request, and holds its answer against the document."""
        what = "%s %s" % (method.upper(), path)
        template, operation = self.document.find(method, urllib.parse.urlsplit(path).path)
        if operation is None:
            failures.append(what + ": is not in the document")
            return None
        fields = dict(headers or {})
        if body is not None:
            fields.setdefault("Content-Type", "application/json")
        if body is not None and 200 <= status < 300:
            content = operation["requestBody"]["content"]
            media = content.get(fields["Content-Type"]) or content.get("*/*", {})
            if fields["Content-Type"] == "application/json" and "schema" in media:
                self.document.valid(media["schema"], json.loads(body), what + ": its body")
        response, text = self.send(method, path, role, body.encode() if body is not None else None, fields)
        what += ": %d" % response.status
        if response.status != status:
            failures.append("%s, not %d: %s" % (what, status, text[:200]))
            return response
        documented = operation["responses"]
        key = str(status) if str(status) in documented else "default"
        self.hold(self.document.resolve(documented[key]), response, text, what)
        with open(self.covered, "a", encoding="utf-8") as file:
            print(method, template, key, file=file)
        return response

    def hold(self, documented, response, text, what):
        kind = (response.getheader("Content-Type") or "").split(";")[0]
        content = documented.get("content", {})
        for name in documented.get("headers", {}):
            if name != "Set-Cookie" and response.getheader(name) is None:
                failures.append("%s: has no %s" % (what, name))
        if not content and text:
            failures.append("%s: has a body" % what)
        if not content or (not text and "application/json" not in content):
            return
        if kind not in content and "*/*" not in content:
            failures.append("%s: is %s, not %s" % (what, kind, ", ".join(content)))
            return
        media = content.get(kind) or content.get("*/*")
        if media and kind == "application/json":
            self.document.valid(media["schema"], json.loads(text), what)
        elif media and "x-line" in media:
            for line in text.decode().splitlines():
                if line:
                    self.document.valid(media["x-line"], json.loads(line), what)
        elif media and "x-events" in media:
            for name, data in events(text.decode()):
                if name in media["x-events"]:
                    self.document.valid(media["x-events"][name], data, "%s: %s" % (what, name))
                else:
                    failures.append("%s: has an event %s" % (what, name))
        elif media and "schema" in media:
            self.document.valid(media["schema"], text.decode(errors="replace"), what)


def auto(server, samples):
    for method, template, operation in server.document.operations():
        sample = {**samples, **samples.get(template, {})}
        path = re.sub(r"\{([^}]*)\}", lambda found: sample[found.group(1)], template)
        needed = [each["name"] for each in operation.get("parameters", ())
                  if each.get("in") == "query" and each.get("required")]
        path += "".join("%s%s=%s" % ("&" if i else "?", name, sample["run"]) for i, name in enumerate(needed))
        statuses = operation["responses"]
        security = operation["security"]
        role = security[0]["token"][0] if security else None
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        body = None if body is None else json.dumps(body)
        if method == "get":
            answer = server.ask(200, method, path, role, body)
            if "304" in statuses and answer:
                server.ask(304, method, path, role, body, {"If-None-Match": answer.getheader("ETag")})
        if "400" in statuses:
            server.ask(400, method, path + ("&" if needed else "?") + "unknown=1", role, body)
        if "401" in statuses and role:
            server.ask(401, method, path, None, body)
        if "403" in statuses and role:
            server.ask(403, method, path, "ingest" if role == "read" else "read", body)
        if "403" in statuses:
            server.ask(403, method, path, role, body, {"Origin": "http://elsewhere.example"})
        if "404" in statuses and "{run}" in template and role != "ingest":
            server.ask(404, method, path.replace(sample["run"], "@none"), role, body)
        if "409" in statuses and "{run}" in template and role != "ingest":
            server.ask(409, method, path.replace(sample["run"], sample["several"]), role, body)
        if "413" in statuses:
            server.ask(413, method, path, role, None, {"Content-Length": str(1 << 40),
                                                       "Content-Type": "application/json"})
        if "415" in statuses:
            server.ask(415, method, path, role, body, {"Content-Type": "text/plain"})


def table(server):
    for line in sys.stdin:
        words = shlex.split(line)
        if not words:
            continue
        role, body, headers = None, None, {}
        for word in words[3:]:
            if word.startswith("as="):
                role = word[3:]
            elif word.startswith("body="):
                body = word[5:]
            elif word.startswith("file="):
                with open(word[5:], encoding="utf-8") as file:
                    body = file.read()
            elif word.startswith("type="):
                headers["Content-Type"] = word[5:]
            else:
                name, value = word.split(": ", 1)
                headers[name] = value
        server.ask(int(words[0]), words[1].lower(), words[2], role, body, headers)


def check(document, covered):
    with open(covered, encoding="utf-8") as file:
        answered = set(file.read().splitlines())
    for method, template, operation in document.operations():
        for status in operation["responses"]:
            if status != "default" and "%s %s %s" % (method, template, status) not in answered:
                failures.append("%s %s: nothing was answered with %s" % (method, template, status))


def main():
    document = Document(sys.argv[1])
    server = Server(document, sys.argv[2], sys.argv[3])
    if sys.argv[4] == "auto":
        auto(server, json.loads(sys.argv[5]))
    elif sys.argv[4] == "table":
        table(server)
    else:
        check(document, sys.argv[3])
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
