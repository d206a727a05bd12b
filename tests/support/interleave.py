#!/usr/bin/env python3
"""Writes a transcript anew as it could have been recorded if the concurrent parts of
its run had gone on at other speeds: its lines in a random order that keeps causes
before effects and attempts one after the other, with seq, timestamp, prev and
durations made anew. All else stays byte for byte.
usage: interleave.py SEED < TRANSCRIPT > TRANSCRIPT"""
import hashlib
import json
import random
import re
import sys

HEAD = re.compile(rb'\{"seq":\d+,"timestamp":"[^"]*",')
DURATION = re.compile(rb'(?<!\\)"duration_ms":\d+')


def attempts(lines):
    """For each attempt its lines, each with its event."""
    groups = []
    for line in lines:
        event = json.loads(line)
        if event["type"] == "run.started":
            groups.append([])
        groups[-1].append((line, event))
    return groups


def shuffled(group, out):
    """The lines of an attempt; `out` has the ids of what was written."""
    waiting = group[1:]
    yield group[0][0]
    out.add(group[0][1]["event_id"])
    while waiting:
        ready = [e for e in waiting if all(c in out for c in causes(e[1]))]
        if len(waiting) > 1:
            ready = [e for e in ready if e[1]["type"] != "run.completed"]
        chosen = random.choice(ready)
        waiting.remove(chosen)
        out.add(chosen[1]["event_id"])
        yield chosen[0]


def causes(event):
    links = [link for link in event.get("links", []) if isinstance(link, str)]
    return [event["parent_event_id"], *links]


def main():
    random.seed(int(sys.argv[1]))
    out, prev, millisecond = set(), b"0" * 64, 0
    groups = attempts(sys.stdin.buffer.read().split(b"\n")[:-1])
    lines = [line for group in groups for line in shuffled(group, out)]
    for seq, line in enumerate(lines, 1):
        millisecond += random.randrange(60)
        head = b'{"seq":%d,"timestamp":"2026-11-22T00:%02d:%02d.%03d000Z",' % (
            seq, millisecond // 60000, millisecond // 1000 % 60, millisecond % 1000)
        line = HEAD.sub(lambda m: head, line[:-66], count=1) + prev + b'"}'
        line = DURATION.sub(lambda m: b'"duration_ms":%d' % random.randrange(10**6), line)
        prev = hashlib.blake2b(line, digest_size=32).hexdigest().encode()
        sys.stdout.buffer.write(line + b"\n")


main()
