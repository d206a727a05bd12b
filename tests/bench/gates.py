"""Leads workflows of gates through an MCP server, as an agent does it: python3 gates.py awf|workrail
COMMAND… Prints milliseconds, medians: from its start to the answer to tools/list; start_workflow;
continue_workflow; then of 120 calls at once how long each took in the mean, and how many were
refused."""
import json
import re
import statistics
import subprocess
import sys
import time

STARTS, RUNS, AT_ONCE = 9, 30, 120
kind, command = sys.argv[1], sys.argv[2:]


class Server:
    def __init__(self):
        begun = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.count, self.came = 0, {}
        self.wait(self.send("initialize", {"protocolVersion": "2025-03-26", "capabilities": {},
                                           "clientInfo": {"name": "bench", "version": "1"}}))
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.wait(self.send("tools/list", {}))
        self.ready = time.monotonic() - begun

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method, params):
        self.count += 1
        self.write({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})
        return self.count

    def wait(self, number):
        while number not in self.came:
            message = json.loads(self.process.stdout.readline())
            if "method" in message and "id" in message:
                self.write({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": []}})
            elif "method" not in message:
                self.came[message["id"]] = message["result"]
        return self.came.pop(number)

    def call(self, tool, arguments):
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def tokens(result):
    """Of the question that is open."""
    text = "".join(part.get("text", "") for part in result["content"])
    if kind == "awf":
        return [json.loads(text).get("continueToken")] if not result["isError"] else []
    return re.findall(r"ct_[A-Za-z0-9_-]+", text)[-1:] if not result.get("isError") else []


def start(server):
    if kind == "awf":
        return server.call("start_workflow", {"workflow": "gates"})
    return server.call("start_workflow", {"workflowId": "test-session-persistence",
                                          "workspacePath": "/tmp", "goal": "measure"})


def go_on(server, token):
    if kind == "awf":
        return server.call("continue_workflow", {"continueToken": token, "answer": "done"})
    return server.call("continue_workflow", {"continueToken": token, "output": {
        "notesMarkdown": "ALPHA BETA GAMMA DELTA. Step finished, all markers written."}})


def timed(server, number, begun):
    result = server.wait(number)
    return result, (time.monotonic() - begun) * 1000


ready = []
for _ in range(STARTS):
    server = Server()
    ready.append(server.ready * 1000)
    server.end()
server = Server()
starts, continues = [], []
for _ in range(RUNS):
    begun = time.monotonic()
    result, took = timed(server, start(server), begun)
    starts.append(took)
    token = tokens(result)
    if kind == "workrail":
        time.sleep(0.02)  # it answers before it lets go of its lock
    begun = time.monotonic()
    result, took = timed(server, go_on(server, token[0]), begun)
    continues.append(took)
opened = [server.wait(number) for number in [start(server) for _ in range(AT_ONCE)]]
time.sleep(0.2)
begun = time.monotonic()
numbers = [go_on(server, token) for result in opened for token in tokens(result)]
results = [server.wait(number) for number in numbers]
each = (time.monotonic() - begun) * 1000 / AT_ONCE
refused = AT_ONCE - sum(1 for result in results if not result.get("isError"))
server.end()
print(f"{statistics.median(ready):.1f} {statistics.median(starts):.1f} "
      f"{statistics.median(continues):.1f} {each:.1f} {refused}")
