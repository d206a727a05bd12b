"""A client of awf-mcp for tests: python3 tests/support/mcp-client.py COMMAND… reads what it is to ask
from stdin, a line each, and prints what comes of it, a line of JSON each.

    METHOD {params}        a request, waited for
    TOOL:NAME {arguments}  a call of a tool; prints {"ok": structured} or {"failed": structured}
    async LINE             the same, not waited for; prints nothing
    wait                   for all of these; prints what came of each, in the order of the requests
    cancel                 the last of them, which is not waited for then
    raw BYTES              a line as it is; prints the next line that comes

$TOKEN in a line is the last continueToken that has come, $RUN the last run. MCP_MODERN=1 speaks the
revision without a handshake. MCP_ELICITS='[result, …]' can ask its user: what he says, one after the
other, to what the server asks, which is printed as {"asked": message}; a member "first" is a command that is
run before, and with "late" it is said when the server has said something else. MCP_CAPABILITIES are
what it has instead."""
import json
import os
import select
import subprocess
import sys

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": json.loads(os.environ.get(
              "MCP_CAPABILITIES", '{"elicitation": {}}' if "MCP_ELICITS" in os.environ else "{}")),
          "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"}}
modern = "MCP_MODERN" in os.environ
sayings = json.loads(os.environ.get("MCP_ELICITS", "[]"))
asking = {}
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
last = {"TOKEN": "", "RUN": ""}
count, waiting, came = 0, {}, {}


def send(method, params):
    global count
    count += 1
    if modern:
        params = {**params, "_meta": MODERN}
    asking[count] = method, params
    write({"jsonrpc": "2.0", "id": count, "method": method, "params": params})
    return count


def write(message):
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()


def receive(number):
    while number not in came:
        line = server.stdout.readline()
        if not line:
            sys.exit("the server has gone")
        message = json.loads(line)
        if "method" in message and "id" in message:
            write({"jsonrpc": "2.0", "id": message["id"], **user(message["params"])})
        elif message.get("result", {}).get("resultType") == "input_required":
            # The same request again, under an id of its own, with what the user says.
            method, params = asking[message["id"]]
            result = message["result"]
            responses = {key: user(asked["params"])["result"] for key, asked in result["inputRequests"].items()}
            again = send(method, {**params, "inputResponses": responses, "requestState": result["requestState"]})
            came[message["id"]] = receive(again)
        elif "id" in message:
            came[message["id"]] = message
        else:
            print(json.dumps({"told": message["params"]}), flush=True)
    return came.pop(number)


def user(params):
    print(json.dumps({"asked": params["message"]}), flush=True)
    said = sayings.pop(0)
    if "first" in said:
        subprocess.run(said.pop("first"), shell=True, check=True)
    if said.pop("late", False):
        select.select([server.stdout], [], [])
    return said if "error" in said else {"result": said}


def say(answer, tool):
    if "error" in answer:
        said = {"error": [answer["error"]["code"], answer["error"]["message"]]}
    elif tool:
        result = answer["result"]
        said = {"failed" if result["isError"] else "ok": json.loads(result["content"][0]["text"])}
        # Clients check what is structured by the tool's schema.
        assert result.get("structuredContent") == said.get("ok")
        for key, name in (("TOKEN", "continueToken"), ("RUN", "run")):
            last[key] = [*said.values()][0].get(name, last[key])
    else:
        said = answer["result"]
    print(json.dumps(said), flush=True)


def ask(line):
    method, _, params = line.partition(" ")
    params = json.loads(params) if params else {}
    tool = method.startswith("TOOL:")
    if tool:
        method, params = "tools/call", {"name": method[5:], "arguments": params}
    return send(method, params), tool


if not modern:
    receive(send("initialize", {"protocolVersion": "2025-06-18", "capabilities": MODERN["io.modelcontextprotocol/clientCapabilities"],
                                "clientInfo": {"name": "tester", "version": "1"}}))
    write({"jsonrpc": "2.0", "method": "notifications/initialized"})
for line in sys.stdin:
    line = line.rstrip("\n")
    for key, value in last.items():
        line = line.replace("$" + key, value)
    if line.startswith("async "):
        number, tool = ask(line[6:])
        waiting[number] = tool
    elif line == "wait":
        for number, tool in waiting.items():
            say(receive(number), tool)
        waiting = {}
    elif line == "cancel":
        number = max(waiting)
        del waiting[number]
        write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    elif line.startswith("raw "):
        server.stdin.write(line[4:].encode() + b"\n")
        server.stdin.flush()
        print(server.stdout.readline().decode().rstrip("\n"), flush=True)
    else:
        number, tool = ask(line)
        say(receive(number), tool)
server.stdin.close()
sys.exit(server.wait())
