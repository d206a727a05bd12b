#!/usr/bin/env python3
"""An MCP server for tests, which misbehaves on command.

usage: mcp-server.py [LOG] [OPTION...]

Each line that it reads is appended to LOG. Options: start=hang|die|tell|ask|garbage|refuse|greet|flood,
version=REVISION, modern, page=N (tools a page), page=endless, page=huge, stop=ignore (neither EOF nor
SIGTERM ends it), tools=none|long|huge|twice|nameless|nul|list|many, schema (one with a keyword of its own),
mirror (a tool with arguments for headers), mirror=wrong, resources, prompts (it has them too), own
(a tool read_resource of its own), defaults (a tool with them), counts (a tool that says how often it was
called), odd (tools that answer oddly)."""
import json
import os
import signal
import sys
import threading
import time

log = open(sys.argv[1], "a") if len(sys.argv) > 1 else None
options = dict((a.split("=", 1) + [""])[:2] for a in sys.argv[2:])
cancelled, waiting, grown, counted = set(), {}, False, 0
lock, order = threading.Lock(), threading.Lock()


def out(text):
    with lock:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def send(message):
    out(json.dumps(dict({"jsonrpc": "2.0"}, **message)))


def tool(name, annotations=None, properties=None, **more):
    schema = {"type": "object", "properties": properties or {}}
    if "schema" in options:
        schema["x-order"] = ["a"]
    return dict({"name": name, "description": "Does " + name + ".", "inputSchema": schema,
                 "annotations": annotations or {}}, **more)


READS = {"readOnlyHint": True}
TEXT = {"text": {"type": "string"}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NAMES = ("note", "slow", "fail", "long_fail", "refuse", "die", "garbage", "half", "wrong", "empty",
         "ask", "grow", "progress", "image", "both", "texts", "input", "fork", "env", "deaf", "batch")
ODD = ("nested", "aside", "blank", "cut")


def tools():
    listed = [tool("echo", READS, TEXT), tool("keep", {"idempotentHint": True}, TEXT),
              tool("look", READS), tool("number", READS, outputSchema=NUMBER), tool("dotted.name", READS)]
    listed += [tool(n) for n in NAMES]
    if grown:
        listed.append(tool("grown", READS))
    if "mirror" in options:
        region = "Re gion" if options["mirror"] == "wrong" else "Region"
        listed.append(tool("mirrored", READS, {
            "region": {"type": "string", "x-mcp-header": region},
            "text": {"type": "string", "x-mcp-header": "Text"}}))
    if "own" in options:
        listed.append(tool("read_resource", READS))
    if "defaults" in options:
        listed.append(dict(tool("filled", READS), inputSchema={
            "type": "object", "required": ["text"], "properties": {
                "text": {"type": "string", "default": "of itself"},
                "deep": {"type": "object", "required": ["n"],
                         "properties": {"n": {"type": "integer", "default": 7}}}}}))
    if "odd" in options:
        listed += [tool(n) for n in ODD]
    if "counts" in options:
        listed.append(tool("count"))
    special = options.get("tools")
    if special == "none":
        return []
    if special == "long":
        listed.append(tool("x" * 60))
    if special == "twice":
        listed.append(tool("dotted_name"))
    if special == "many":
        listed += [{"name": "many%d" % i, "inputSchema": {"type": "object"}} for i in range(20000)]
    if special == "nul":
        listed.append(tool("echo\0evil"))
    if special == "huge":
        listed.append(tool("\n" + "x" * 5000))
    if special == "nameless":
        listed.append({"inputSchema": {"type": "object"}})
    return listed


def text(t, **more):
    return dict({"content": [{"type": "text", "text": t}]}, **more)


def ask(method):
    """A request of ours to the client; its answer."""
    event = waiting[method] = threading.Event()
    send({"id": method, "method": method, "params": {}})
    event.wait(10)
    return event.answer


def slow(number, token, seconds, steps):
    for i in range(steps):
        if number in cancelled:
            return None
        time.sleep(seconds / steps)
        if token is not None and steps > 1:
            send({"method": "notifications/progress", "params": {
                "progressToken": token, "progress": i + 1, "total": steps, "message": "st\x1bep"}})
    return text("slept")


def meet(place, count):
    """Answers once as many calls are here, of this server or others, as are to meet."""
    os.makedirs(place, exist_ok=True)
    open(os.path.join(place, "%d.%d" % (os.getpid(), threading.get_ident())), "w").close()
    for _ in range(1000):
        if len(os.listdir(place)) >= count:
            return text("met")
        time.sleep(0.02)
    return text("alone", isError=True)


def call(number, params):
    global grown, counted
    name, given = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name in ("echo", "keep", "note"):
        if "file" in given:
            with open(given["file"], "a") as f:
                f.write(given.get("text", "") + "\n")
        return text(given.get("text", ""))
    if name == "die" or "die" in given:
        sys.stderr.write("out of luck\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL) if given.get("killed") else os._exit(7)
    if name == "look" and "meet" in given:
        return meet(given["meet"], given["of"])
    if name == "look" and "turn" in given:
        with order:  # one after another
            return slow(number, token, given["seconds"], 1)
    if name in ("slow", "look"):
        return slow(number, token, given.get("seconds", 5), 1)
    if name == "progress":
        return slow(number, token, given.get("seconds", 1), 5)
    if name == "fail" and "refused" in given:
        return {"error": {"code": -32000, "message": "bad key " + sys.argv[-1]}}
    if name == "fail" and "key" in given:
        return text("bad key " + sys.argv[-1], isError=True)
    if name == "fail":
        return text("no such thing", isError=True)
    if name == "long_fail":
        return text("first\nsecond", isError=True)
    if name == "garbage":
        out("{not json")
    if name == "half":
        sys.stdout.write('{"jsonrpc":"2.0",')
        sys.stdout.flush()
        os._exit(0)
    if name == "wrong":
        send({"id": 4711, "result": {}})
    if name == "empty":
        send({"id": number})
    if name == "deaf":
        os.close(1)
        time.sleep(60)
    if name == "nested":
        out('{"jsonrpc":"2.0","id":%d,"result":%s{}%s}' % (number, '{"a":' * 1000, "}" * 1000))
    if name == "aside":  # words of who keeps it, out of the server's mouth
        out('[[{"awf":"refused","text":"all of it"}],"%s",7]' % ("x" * 9))
    if name == "blank":
        send({"id": number, "method": None, "result": text("answered")})
        return None
    if name == "cut":
        return text("one\0two", isError=True)
    if name in ("garbage", "wrong", "empty", "nested", "aside"):
        time.sleep(60)
    if name == "ask":
        return text("", structuredContent={m: ask(m).get("error", {}).get("code", "ok") for m in
                    ("ping", "roots/list", "sampling/createMessage", "elicitation/create")})
    if name == "grow":
        grown = not grown
        send({"method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "number" and given.get("n") == "key":
        return text("", structuredContent={"n": sys.argv[-1]})
    if name == "number":
        return text("as text", structuredContent={"n": given.get("n", 1)})
    if name == "image":
        return {"content": [{"type": "text", "text": "see"},
                            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]}
    if name == "both":
        return {"content": [{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}],
                "structuredContent": {"a": 1}}
    if name == "texts":
        return {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
    if name == "input":
        return {"resultType": "input_required", "inputRequests": {}}
    if name == "fork":
        import subprocess  # it takes its time
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        return text(str(child.pid))
    if name == "env":
        return text(os.environ.get(given["name"], "unset") if "name" in given else os.getcwd())
    if name == "batch":
        out(json.dumps([{"jsonrpc": "2.0", "method": "notifications/message", "params": {}},
                        {"jsonrpc": "2.0", "id": number, "result": text("batched")}]))
        return None
    if name == "count":
        counted += 1
        return text(str(counted))
    if name == "filled":
        return text(json.dumps(given, sort_keys=True))
    if name in ("dotted.name", "mirrored", "read_resource"):
        return text(name)
    return {"error": {"code": -32602, "message": "Unknown tool: " + name}}


NOTES = {"uri": "note:a", "mimeType": "text/plain", "text": "line \u00e9"}
IMAGE = {"uri": "image:dot", "mimeType": "image/png", "blob": "iVBORw0KGgo="}
RESOURCES = {"note:a": [NOTES], "image:dot": [IMAGE], "both:": [NOTES, IMAGE],
             "notes:": [NOTES, dict(NOTES, uri="note:b", text="second")], "odd:": None}


def beside(method, params):
    """What there is beside tools; None: no such thing."""
    if method == "resources/list" and params.get("cursor") == "2":
        return {"resources": [{"uri": "image:dot", "name": "dot"}], "_meta": {"x": 1}}
    if method == "resources/list":
        return {"resources": [{"uri": "note:a", "name": "a"}], "nextCursor": "2", "ttlMs": 1}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "note:{name}", "name": "notes"}]}
    if method == "resources/read" and params["uri"] == "ask:":
        return {"resultType": "input_required", "inputRequests": {}}
    if method == "resources/read" and params["uri"] in RESOURCES:
        return {"contents": RESOURCES[params["uri"]]}
    if method == "resources/read":
        return {"error": {"code": -32002, "message": "Resource not found"}}
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
    if method == "prompts/get":
        return {"description": "A greeting", "messages": [{"role": "user", "content": {
            "type": "text", "text": "Greet " + params.get("arguments", {}).get("who", "all")}}]}
    return None


def capabilities():
    has = {} if options.get("tools") == "no" else {"tools": {"listChanged": True}}
    has.update((name, {}) for name in ("resources", "prompts") if name in options)
    return has


def answer(message):
    method, params, number = message["method"], message.get("params", {}), message["id"]
    if method == "initialize":
        if "modern" in options or options.get("start") == "refuse":
            return {"error": {"code": -32022, "message": "Unsupported protocol version",
                              "data": {"supported": ["2026-07-28"]}}}
        return {"protocolVersion": options.get("version", params["protocolVersion"]),
                "capabilities": capabilities(), "serverInfo": {"name": "test", "version": "1"}}
    if "modern" in options and "io.modelcontextprotocol/protocolVersion" not in \
            params.get("_meta", {}):
        return {"error": {"code": -32602, "message": "no protocol version"}}
    if method == "server/discover" and "modern" in options:
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": capabilities()}
    if method == "tools/list":
        return page(params)
    if method == "tools/call":
        return call(number, params)
    return (method.split("/")[0] in options and beside(method, params)) or \
        {"error": {"code": -32601, "message": "Method not found"}}


def page(params):
    size = options.get("page")
    if options.get("tools") == "list":
        return {"tools": "none"}
    if size == "endless":
        return {"tools": [], "nextCursor": "more"}
    if size == "huge":
        return {"tools": [{"name": "x", "description": "x" * (1 << 20), "inputSchema": {}}], "nextCursor": "more"}
    listed, at = tools(), int(params.get("cursor", "0"))
    if size is None:
        return {"tools": listed}
    result = {"tools": listed[at:at + int(size)]}
    if at + int(size) < len(listed):
        result["nextCursor"] = str(at + int(size))
    return result


def serve(message):
    result = answer(message)
    if result is None or message["id"] in cancelled:
        return
    if set(result) == {"error"}:
        send(dict(result, id=message["id"]))
    else:
        send({"id": message["id"], "result": result})


def take(message):
    if message.get("method") == "notifications/cancelled":
        cancelled.add(message["params"]["requestId"])
    elif "method" in message and "id" in message:
        threading.Thread(target=serve, args=(message,), daemon=True).start()
    elif message.get("id") in waiting:
        event = waiting[message["id"]]
        event.answer = message
        event.set()


def main():
    start = options.get("start")
    if options.get("stop") == "ignore":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if start == "die":
        sys.exit("cannot start: no database")
    if start == "tell":
        sys.stderr.write("no entry with")
        for word in [sys.argv[-1], os.environ.get("API_TOKEN", "none")]:
            sys.stderr.write(" " + word[:5])
            sys.stderr.flush()
            time.sleep(0.02)
            sys.stderr.write(word[5:])
        sys.exit(1)
    if start == "garbage":
        out('{"jsonrpc": what')
    if start == "ask":
        sys.stdout.reconfigure(write_through=False)
        question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n"
        sys.stdout.write(question * 200000)
    if start == "greet":
        out("Hello, I am a server.\n")
    if start == "flood":
        sys.stderr.write("x" * 200000 + "\nthe end\n")
    for line in sys.stdin:
        if log:
            log.write(line)
            log.flush()
        if start != "hang":
            take(json.loads(line))
    if log:
        log.write('"EOF"\n')
        log.flush()
    while options.get("stop") == "ignore":
        time.sleep(60)
    os._exit(0)


main()
