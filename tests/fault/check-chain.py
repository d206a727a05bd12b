#!/usr/bin/python3
"""Checks a transcript without any code of the project's own.

usage: check-chain.py FILE [LINES [ACKNOWLEDGED]]
LINES: how many there must be (- for any number). ACKNOWLEDGED: a file of event
ids, each of which must stand in the transcript.
"""
import hashlib
import json
import sys


def fail(number, what):
    sys.exit(f"{sys.argv[1]}: line {number}: {what}")


def check_line(number, line, prev, ids, timestamp):
    if not line.endswith(b"\n") or b"\0" in line:
        fail(number, "torn")
    event = json.loads(line)
    keys = list(event)
    if keys[0] != "seq" or keys[-1] != "prev":
        fail(number, f"keys are {keys}")
    if event["seq"] != number:
        fail(number, f"seq is {event['seq']}")
    if event["prev"] != prev:
        fail(number, "the chain is broken")
    if event["event_id"] in ids:
        fail(number, f"event {event['event_id']} stands twice")
    if event["timestamp"] < timestamp:
        fail(number, "the clock went back")
    ids.add(event["event_id"])
    return hashlib.blake2b(line[:-1], digest_size=32).hexdigest(), event["timestamp"]


def main():
    prev, timestamp, ids, number = "0" * 64, "", set(), 0
    with open(sys.argv[1], "rb") as lines:
        for number, line in enumerate(lines, 1):
            prev, timestamp = check_line(number, line, prev, ids, timestamp)
    if len(sys.argv) > 2 and sys.argv[2] != "-" and int(sys.argv[2]) != number:
        fail(number, f"there should be {sys.argv[2]} lines")
    if len(sys.argv) > 3:
        with open(sys.argv[3]) as acknowledged:
            for event_id in map(str.strip, acknowledged):
                if event_id not in ids:
                    fail(number, f"acknowledged event {event_id} is lost")
    print(number)


main()
