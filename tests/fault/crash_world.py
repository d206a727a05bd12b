"""The world in which crash.py lets a workflow run: its files, a model server, ledgers.

The workflow has five steps and two or three items. Every effect of it writes into a
ledger outside of the workspace, so what really happened can be counted.
"""
import json
import os
import re
import signal
import subprocess
import time

FLOW = """\
#!/usr/bin/env -S awf-run --
{source} |
awf-step -j {jobs} -t stamp stamp |
awf-step -j {jobs} -a worker work |
awf-step -j {jobs} --effects external send -- fault_effect external 'sent(%)' |
awf-step -s join -r -- fault_effect command_undeclared '%'
"""
SOURCES = (
    "awf-step -i lines --effects read fetch -- fault_effect command_read '{{\"item\":\"%\"}}' |"
    " jq -c 'if .metadata.error then . else .data |= fromjson end'",
    "awf-step -n -O json --effects none fetch -- fault_effect command_none '{items}'",
)
AGENT = """\
---
name: worker
provider: anthropic
model: test
tools: [calc, look, jot, mail, put, odd]
---
Be brief.
"""
# Each has a ledger of its own name.
TOOLS = {
    "calc": {"effects": "none", "concurrent": True},
    "look": {"effects": "read"},
    "jot": {"effects": "workspace", "concurrent": True},
    "mail": {"effects": "external"},
    "put": {"effects": "external", "idempotent": True, "concurrent": True},
    "odd": {},
    "stamp": {"effects": "workspace"},
}
# What the model asks for in each turn of an item; after these it answers. There is no
# tool of the name none.
TURNS = (("look", "mail"), ("put", "jot", "calc"), ("odd", "none", "mail"))
# Ledgers of effects that resume may repeat when they were cut off.
REPEATABLE = {"command_read", "command_none", "command_undeclared", "calc", "look", "put"}


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def stream(reason, blocks):
    """The events of one answer as the Messages API sends them."""
    yield {"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "test-1", "content": [],
        "stop_reason": None, "usage": {"input_tokens": 10, "output_tokens": 1}}}
    for index, block in enumerate(blocks):
        at = {"index": index}
        if block["type"] == "text":
            empty, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", **at, "content_block": {**block, **empty}}
        yield {"type": "content_block_delta", **at, "delta": delta}
        yield {"type": "content_block_stop", **at}
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def tool_id(item, turn, tool):
    return f"{item}_{turn}_{tool}"


def answer(item, turn):
    if turn == len(TURNS):
        return stream("end_turn", [{"type": "text", "text": f"report on {item}"}])
    return stream("tool_use", [
        {"type": "tool_use", "id": tool_id(item, turn, tool), "name": tool,
         "input": {"for": f"{item} {turn}"}} for tool in TURNS[turn]])


class Server:
    """The model server. An answer depends on nothing but the request."""

    def __init__(self, directory, items, slow_ms):
        self.log = os.path.join(directory, "requests")
        self.read_to = 0
        answers = []
        for item in items:
            # The first pattern that matches is answered: the latest turn's.
            for turn in range(len(TURNS), -1, -1):
                path = os.path.join(directory, f"answer-{item}-{turn}")
                write(path, "".join(json.dumps(event, separators=(",", ":")) + "\n"
                                    for event in answer(item, turn)))
                pattern = tool_id(item, turn - 1, TURNS[turn - 1][0]) if turn else item
                answers += ["--answer-for", pattern, path]
        self.process = subprocess.Popen(
            ["model-server", "--loop", "--log", self.log, "--fault", "*:split:300",
             "--fault", f"*:slow:{slow_ms}", *answers], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def settle(self):
        """Waits until requests on their way from the dead have been logged."""
        size, same = -1, 0
        while same < 3:
            time.sleep(0.004)
            now = os.path.getsize(self.log) if os.path.exists(self.log) else 0
            same = same + 1 if now == size else 0
            size = now

    def requests(self):
        """The requests since the last time: ((item, turn), body)."""
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as file:
            file.seek(self.read_to)
            lines = file.readlines()
            self.read_to = file.tell()
        return [request_of(json.loads(line)["body"]) for line in lines]

    def stop(self):
        self.process.terminate()
        self.process.wait()


def request_of(body):
    if isinstance(body, str):
        body = json.loads(body)
    text = json.dumps(body["messages"][0])
    item = re.search(r"item-[a-z]+", text).group()
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    return (item, turn), json.dumps(body, sort_keys=True)


class World:
    def __init__(self, directory, items):
        self.directory, self.items = directory, items
        self.work = os.path.join(directory, "work")
        self.ledgers = os.path.join(directory, "ledgers")
        write(f"{self.work}/agents/worker.md", AGENT)
        for name, members in TOOLS.items():
            definition = {"command": ["fault_effect", name, '{"done":%}'], **members}
            write(f"{self.work}/tools/{name}.tool.json", json.dumps(definition))

    def workflow(self, source, jobs):
        items = "".join('{"item":"%s"}' % item for item in self.items)
        text = SOURCES[source].format(items=items + "%")
        write(f"{self.work}/flow.awf", FLOW.format(source=text, jobs=jobs), 0o755)

    def stdin(self, source):
        """What the workflow is to read."""
        return "" if source else "".join(item + "\n" for item in self.items)

    def clear_ledgers(self):
        os.makedirs(self.ledgers, exist_ok=True)
        for name in os.listdir(self.ledgers):
            os.unlink(os.path.join(self.ledgers, name))

    def happened(self):
        """What happened how often: {(ledger, call, input): times}."""
        counts = {}
        for name in os.listdir(self.ledgers):
            with open(os.path.join(self.ledgers, name), encoding="utf-8") as file:
                for line in file:
                    call, _, given = line.rstrip("\n").partition(" ")
                    effect = (name, call, given)
                    counts[effect] = counts.get(effect, 0) + 1
        return counts


def processes():
    """Of every process its pid: (parent, state)."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                fields = file.read().rpartition(")")[2].split()
            found[int(name)] = (int(fields[1]), fields[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def marked(mark):
    """The processes that have this in their environment and are no zombies."""
    found = set()
    for pid, (_, state) in processes().items():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if state != "Z" and mark in file.read().split(b"\0"):
                    found.add(pid)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return found


def descendants(root):
    """The process and all below it, parents first."""
    table = processes()
    family = [root]
    for above in family:
        family += [pid for pid, (parent, _) in table.items() if parent == above]
    return [pid for pid in family if pid in table and table[pid][1] != "Z"]


def signal_quietly(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def freeze(root, mark):
    """Stops a process and all that came of it, so that they die as one. Those that have
    the mark are its own too, wherever they went. The root comes last: those who lose
    their parent while they are stopped would be woken by SIGHUP."""
    stopped, quiet = [], 0
    while quiet < 2:
        family = descendants(root)
        if quiet == 1:
            family += [pid for pid in marked(mark) if pid not in family]
        new = [pid for pid in family if pid not in stopped]
        for pid in new:
            signal_quietly(pid, signal.SIGSTOP)
        stopped += new
        table = processes()
        # D: one that waits for a child which was stopped between vfork() and exec.
        still = all(table.get(pid, (0, "Z"))[1] in "TtZXD" for pid in stopped)
        quiet = quiet + 1 if still and not new else 0
    return stopped[::-1]


def kill(pids):
    for pid in pids:
        signal_quietly(pid, signal.SIGKILL)
    until(lambda: all(processes().get(pid, (0, "Z"))[1] in "ZX" for pid in pids))


def until(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError("never came true")
        time.sleep(0.002)
