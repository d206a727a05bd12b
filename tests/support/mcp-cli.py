#!/usr/bin/env python3
"""An agent CLI for tests that calls tools of its MCP server, and says so as Claude Code does.

It writes its pid into "cli.pid", reads its prompt and the file of --mcp-config, starts the server "awf" and does what the lines of
the file "script" say, a JSON object each: {"call": NAME, "arguments": {...}}, {"calls": [those]}
at once, {"kill": true} the server and start it anew, {"lose": CALL}: kill it after the call, once
the file "began" is there, {"ask": METHOD}, {"run": ARGV} with the environment of the server,
{"exit": STATUS}, {"hang": true}. What the server offers and answers is appended to the file "heard".
The text of the last result is its answer."""
import json
import os
import subprocess
import sys
import time

sys.stdin.read()
with open("cli.pid", "w") as f:
    f.write(str(os.getpid()))
arguments = sys.argv[1:]
tools, number, text, used = [], 0, "nothing", 0
server = None


def heard(what):
    with open("heard", "a") as f:
        f.write(json.dumps(what, sort_keys=True, separators=(",", ":")) + "\n")


def say(line):
    print(json.dumps(dict(line, session_id="s-1")), flush=True)


def send(method, params=None, **more):
    message = dict({"jsonrpc": "2.0", "method": method}, **more)
    if params is not None:
        message["params"] = params
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def request(method, params=None):
    global number
    number += 1
    send(method, params, id=number)
    return number


def answer(*ids):
    """The answers, in whichever order they come."""
    found = {}
    while len(found) < len(ids):
        line = server.stdout.readline()
        if not line:
            raise EOFError
        message = json.loads(line)
        found[message["id"]] = message
    return [found[i] for i in ids]


def start():
    global server, own
    file = arguments[arguments.index("--mcp-config") + 1]
    with open(file) as f:
        own = json.load(f)["mcpServers"]["awf"]
    server = subprocess.Popen([own["command"]] + own.get("args", []), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=dict(os.environ, **own["env"]))
    with open("server.pid", "w") as f:
        f.write(str(server.pid))
    hello = answer(request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                          "clientInfo": {"name": "test", "version": "1"}}))[0]
    send("notifications/initialized")
    listed = answer(request("tools/list"))[0]["result"]["tools"]
    return hello["result"], listed


def call(each):
    global used
    used += 1
    say({"type": "assistant", "message": {"model": "m", "content": [
        {"type": "tool_use", "id": "t%d" % used, "name": "mcp__awf__" + each["call"],
         "input": each.get("arguments", {})}]}})
    return used, request("tools/call", {"name": each["call"], "arguments": each.get("arguments", {})})


def result(use, message):
    global text
    if "result" in message:
        text = message["result"]["content"][0].get("text", "")
        say({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t%d" % use, "content": message["result"]["content"],
             "is_error": message["result"]["isError"]}]}})
    heard(message.get("result", message.get("error")))


say({"type": "system", "subtype": "init", "claude_code_version": "2.1.332"})
if "--mcp-config" in arguments:
    hello, tools = start()
    heard([hello["protocolVersion"], hello["serverInfo"]["name"], tools])
for line in open("script"):
    do = json.loads(line)
    if "call" in do:
        use, asked = call(do)
        result(use, answer(asked)[0])
    elif "calls" in do:
        asked = [call(each) for each in do["calls"]]
        for (use, _), message in zip(asked, answer(*[i for _, i in asked])):
            result(use, message)
    elif "run" in do:
        subprocess.run(do["run"], env=dict(os.environ, **own["env"]), check=False)
    elif "lose" in do:
        call(do["lose"])
        while not os.path.exists("began"):
            time.sleep(0.01)
        server.kill()
        server.wait()
        start()
    elif "ask" in do:
        heard(answer(request(do["ask"]))[0].get("error"))
    elif "exit" in do:
        sys.exit(do["exit"])
    elif "hang" in do:
        time.sleep(100)
say({"type": "assistant", "message": {"model": "m", "content": [{"type": "text", "text": text}]}})
say({"type": "result", "subtype": "success", "is_error": False, "stop_reason": "end_turn",
     "usage": {"input_tokens": 1, "output_tokens": 1}})
