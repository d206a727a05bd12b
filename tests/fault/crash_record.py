"""What a transcript says of itself, read without any code of the project's own: the
oracle of crash.py for what resume must ask, and what it must not do again."""
import json
import re

from crash_world import TOOLS

CUT_OFF = {"timeout", "cancelled", "downstream_closed"}
WHOLE = re.compile(rb'\{"seq":[0-9]+,[^\n\0]*"prev":"[0-9a-f]{64}"\}\n')


def whole_lines(path):
    """The lines up to the first that is not whole, and what follows them."""
    with open(path, "rb") as file:
        content = file.read()
    lines, at = [], 0
    while match := WHOLE.match(content, at):
        lines.append(match.group())
        at = match.end()
    return lines, content[at:]


class Record:
    def __init__(self, path):
        self.lines, self.tail = whole_lines(path)
        self.events = [json.loads(line) for line in self.lines]
        self.calls = {}      # call: its latest step.started or step.completed
        self.effects = {}    # call: the step.started
        self.tools = {}      # call_id: (call, its latest tool.call or tool.result)
        self.told = set()    # tools whose results the model has been told
        self.answered = set()
        self.attempts = []
        self.read()

    def read(self):
        """Calls of a group have no part in this: a place (path, item) is one call."""
        places = {}
        for event in self.events:
            payload, kind = event["payload"] or {}, event["type"]
            place = (event["path"], event["iteration"])
            if kind == "run.started":
                self.attempts.append(payload["attempt"])
            elif kind == "step.started":
                places[place] = payload["call"]
                self.calls[payload["call"]] = event
                self.effects[payload["call"]] = payload
            elif kind == "step.completed":
                self.calls[payload["call"]] = event
            elif kind == "message.assistant" and ("retry" in payload or payload.get("partial")):
                pass  # tells of a try that failed, or what came of an answer that was cut off
            elif kind == "message.assistant":
                self.answered.add((event["iteration"], payload["turn"]))
                self.told |= {key for key in self.tools if key[0] == places[place]}
            elif kind.startswith("tool."):
                self.tools[(places[place], payload["call_id"])] = event

    def completed(self, event):
        """Whether this is the end of something that will not be asked about. The result
        of a tool is interrupted if it was skipped."""
        error = (event["payload"].get("error") or {}).get("code")
        if error is not None and event["payload"].get("exit_code", 0) > 128:
            return False
        if event["type"] == "tool.result":
            return error not in CUT_OFF
        return event["type"] == "step.completed" and error not in CUT_OFF | {"interrupted"}

    def unresolved(self):
        """{call: [what of it is not known to have happened]}: the call itself, or the
        call_id of a tool."""
        found = {}
        for call, event in self.calls.items():
            started = self.effects[call]
            risky = started.get("effects") in ("workspace", "external") and self.begun(call)
            known = self.completed(event)
            if started["kind"] == "operation":  # its tool's result says how it ended
                known = known and not event["payload"].get("error")
            if not self.of_agent(call) and risky and not started.get("idempotent") and not known:
                found.setdefault(call, []).append(call)
        for (call, call_id), event in self.tools.items():
            tool = TOOLS.get(event["payload"]["name"], {"effects": "none"})
            risky = tool.get("effects") not in ("none", "read") and not tool.get("idempotent")
            known = self.completed(event) or (call, call_id) in self.told
            if self.of_agent(call) and risky and not known:
                found.setdefault(call, []).append(call_id)
        return found

    def begun(self, call):
        """An operation has not begun its work before its tool was called."""
        return self.effects[call]["kind"] != "operation" or \
            any(key[0] == call and not self.completed(event) for key, event in self.tools.items())

    def of_agent(self, call):
        return self.effects[call]["kind"] == "agent"

    def harmless(self):
        """Calls that have begun to do something that can have had no effect, or whose
        effect is on record: a question about them is as good as none."""
        found = set()
        for (call, _), event in self.tools.items():
            if self.of_agent(call):
                known = event["payload"]["name"] in TOOLS or self.completed(event)
            else:
                known = self.completed(self.calls[call])
            if not known:
                found.add(call)
        return found

    def ended(self):
        """What ended well: calls, and tool calls of agents as (call, call_id)."""
        good = {key for key, event in self.calls.items()
                if event["type"] == "step.completed" and not event["payload"].get("error") and
                event["payload"].get("skipped") in (None, "by_user")}
        return good | {key for key, event in self.tools.items()
                       if event["type"] == "tool.result" and not event["payload"].get("error") and
                       self.of_agent(key[0])}

    def status(self):
        last = self.events[-1]
        return last["payload"]["status"] if last["type"] == "run.completed" else None
