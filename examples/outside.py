#!/usr/bin/env python3
"""An agent of another make, in the record of AWF: its turns and tool calls go to awf-record.

Inside of a workflow they stand under the step, elsewhere they are a run of their own:

    awf-step -n count -r -- ./outside.py notes
    ./outside.py notes

The model is made up; what matters is `record`, some lines that any program can have.
"""
import json
import os
import subprocess
import sys
import uuid


class Recorder:
    """Events to awf-record, each under an id: one that was not acknowledged may be sent again."""

    def __init__(self):
        self.program = subprocess.Popen(["awf-record", "--name", "outside"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def record(self, kind, **payload):
        event = {"type": kind, "event_id": str(uuid.uuid4()), "payload": payload}
        self.program.stdin.write(json.dumps(event) + "\n")
        self.program.stdin.flush()
        # Once this line has come the event is on disk.
        return json.loads(self.program.stdout.readline())["event_id"]

    def close(self):
        self.program.stdin.close()
        return self.program.wait()


def list_files(directory):
    return sorted(name for name in os.listdir(directory) if name.endswith(".md"))


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else "."
    log = Recorder()
    log.record("message.user", text="Which notes are there in %s?" % directory)
    log.record("message.assistant", model="made-up", turn=0, stop_reason="tool_use", blocks=[
        {"type": "tool_use", "tool_id": "1", "tool_name": "list", "tool_input": {"directory": directory}}])
    log.record("tool.start", tool="list", callId="1", args={"directory": directory})
    files = list_files(directory)
    log.record("tool.end", tool="list", callId="1", result=files)
    answer = "%d notes: %s" % (len(files), ", ".join(files))
    log.record("message.assistant", model="made-up", turn=1, stop_reason="end_turn", text=answer)
    print(answer)
    return log.close()


sys.exit(main())
