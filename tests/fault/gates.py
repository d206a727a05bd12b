"""Leads a workflow of ten gates so many times while awf-mcp, a step or awf-run is killed at random:
python3 tests/fault/gates.py SEED ROUNDS, in a directory with flows/ten.awf, whose last step appends
a line to the file effects. Prints what broke, and how often what was killed."""
import json
import os
import random
import signal
import subprocess
import sys
import time

chance, rounds = random.Random(int(sys.argv[1])), int(sys.argv[2])
storage = os.environ["AWF_STORAGE"]
kills = {}


class Server:
    def __init__(self):
        self.process = subprocess.Popen(["awf-mcp", "-w", "flows"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.count = 0
        self.receive(self.send("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                              "clientInfo": {"name": "tester", "version": "1"}}))

    def send(self, method, params):
        self.count += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method,
                                             "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        return self.count

    def receive(self, number):
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == number:
                return message["result"]

    def call(self, tool, **arguments):
        return self.receive(self.send("tools/call", {"name": tool, "arguments": arguments}))

    def kill(self):
        self.process.kill()
        self.process.wait()


def processes(name, run):
    """Those of a run that are called so."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if os.path.basename(words[0]).decode() == name and (
                run.encode() in words or f"AWF_RUN_ID={run}".encode() in variables):
            yield int(pid)


def lead(number):
    """One run to its end; what is wrong with it, or nothing."""
    server = Server()
    state = server.call("start_workflow", workflow="ten", input=f"round {number}")["structuredContent"]
    run = state["run"]
    for _ in range(300):
        if state["isComplete"] and state["status"] == "success":
            break
        if chance.random() < 0.2:
            what = chance.choice(["awf-mcp", "awf-step", "awf-run"])
            kills[what] = kills.get(what, 0) + 1
            if what == "awf-mcp":
                # Perhaps with an answer on its way.
                if chance.random() < 0.5 and "continueToken" in state:
                    server.send("tools/call", {"name": "continue_workflow", "arguments": {
                        "continueToken": state["continueToken"], "answer": state["prompt"]}})
                    time.sleep(chance.random() / 50)
                server.kill()
                server = Server()
            else:
                for pid in list(processes(what, run))[:1]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                time.sleep(chance.random() / 10)
            state = server.call("resume_session", run=run)
        elif "continueToken" in state:
            state = server.call("continue_workflow", continueToken=state["continueToken"],
                                answer=state["prompt"])
        elif state["isComplete"] or state["status"] in ("waiting", "died"):
            state = server.call("resume_session", run=run)
        else:
            state = server.call("wait_workflow", run=run)
        if state["isError"]:
            state = server.call("resume_session", run=run)
        state = state["structuredContent"]
    server.process.stdin.close()
    server.process.wait()
    answers = {}
    with open(f"{storage}/transcripts/{run}.jsonl", encoding="utf-8") as file:
        for event in map(json.loads, file):
            if event["payload"].get("approval", {}).get("decision") == "completed":
                answers[event["path"]] = answers.get(event["path"], 0) + 1
    with open("effects", encoding="utf-8") as file:
        effects = file.read().count("\n")
    os.remove("effects")
    verified = subprocess.run(["awf-verify", "-q", run], check=False).returncode == 0
    want = "gate 10 after gate 9 after " in state.get("output", "")
    if not (want and effects == 1 and verified and list(answers.values()) == [1] * 10):
        return f"round {number}, {run}: {state}, {effects} effects, answers {answers}"
    return None


broken = [fault for fault in map(lead, range(rounds)) if fault]
for fault in broken:
    print(fault)
print("killed:", json.dumps(kills, sort_keys=True))
sys.exit(1 if broken else 0)
