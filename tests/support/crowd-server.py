#!/usr/bin/env python3
"""A server of models that many ask at once, and that refuses some of them. It prints its base URL:

crowd-server.py LOG [--latency S] [--limit N] [--first N] [--refuse PART] [--retry-after MS]
                [--refusing S] [--reset PART] [--hang PART] [--seed N] [--began FILE]

It speaks chat completions; the last word of the last message names the call. Each request is a line of
LOG as it is decided: seconds, the name of the call, status (0: its connection is reset, -1: nothing is
ever sent), model.

    --latency      until an answer (0.05)
    --limit        answers that begin within a second; the others are refused with 429
    --first        of so many requests all are refused before any is answered
    --refuse       the part of the rest that is refused by chance
    --retry-after  what it tells those whom it refuses, in milliseconds; without it nothing
    --refusing     until a refusal (0)
    --reset, --hang  the parts that get no answer, by chance
    --began        a file that gets the time from which the seconds count, since 1970, and a line with the
                   beginning and end of each time for which nothing was done, as the machine was busy
"""
import argparse
import asyncio
import collections
import json
import os
import random
import time

PIECES = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": "fine"}, "finish_reason": None}]},
          {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
          {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}}]
LOOK, STALL = 0.02, 0.1  # seconds
COMMON = {"id": "c", "object": "chat.completion.chunk", "model": "m"}


class Crowd:
    def __init__(self, options):
        self.options, self.random = options, random.Random(options.seed)
        self.log = open(options.log, "w", buffering=1, encoding="utf-8")
        self.began, self.refused, self.accepted = time.monotonic(), 0, collections.deque()
        self.stalls = open(options.began or os.devnull, "w", buffering=1, encoding="utf-8")
        print(time.time(), file=self.stalls)

    def decide(self):
        """The status that the next request gets."""
        options, now = self.options, time.monotonic()
        if self.refused < options.first:
            self.refused += 1
            return 429
        chance = self.random.random()
        for status, part in ((429, options.refuse), (0, options.reset), (-1, options.hang)):
            if chance < part:
                return status
            chance -= part
        while self.accepted and self.accepted[0] <= now - 1:
            self.accepted.popleft()
        if options.limit and len(self.accepted) >= options.limit:
            return 429
        self.accepted.append(now)
        return 200

    async def note_stalls(self):
        while True:
            before = time.monotonic()
            await asyncio.sleep(LOOK)
            now = time.monotonic()
            if now > before + LOOK + STALL:
                print(f"{before - self.began:.4f} {now - self.began:.4f}", file=self.stalls)

    async def serve(self, reader, writer):
        try:
            while await self.exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        writer.close()

    async def exchange(self, reader, writer):
        """Whether the connection may have another request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.split("\r\ncontent-length:")[1].split("\r\n")[0])
        if "\r\nexpect: 100-continue" in head:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = json.loads(await reader.readexactly(length))
        content = body["messages"][-1]["content"]
        words = (content if isinstance(content, str) else content[-1]["text"]).split()
        status = self.decide()
        print(f"{time.monotonic() - self.began:.4f} {words[-1]} {status} {body['model']}", file=self.log)
        if status == -1:
            await reader.read()
            return False
        if status == 0:
            writer.transport.abort()
            return False
        if status == 429:
            await asyncio.sleep(self.options.refusing)
            text, kind = json.dumps({"error": {"message": "too many", "type": "requests",
                                               "code": "rate_limit_exceeded"}}), "application/json"
        else:
            await asyncio.sleep(self.options.latency)
            text = "".join(f"data: {json.dumps(COMMON | piece)}\n\n" for piece in PIECES) + "data: [DONE]\n\n"
            kind = "text/event-stream"
        wait = f"retry-after-ms: {self.options.retry_after}\r\n" if self.options.retry_after else ""
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(text)}\r\n"
                     f"{wait if status == 429 else ''}\r\n{text}".encode())
        await writer.drain()
        return True


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--began")
    parser.add_argument("--latency", type=float, default=0.05)
    for name in ("--limit", "--first", "--retry-after", "--seed"):
        parser.add_argument(name, type=int, default=0)
    for name in ("--refuse", "--refusing", "--reset", "--hang"):
        parser.add_argument(name, type=float, default=0.0)
    crowd = Crowd(parser.parse_args())
    server = await asyncio.start_server(crowd.serve, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.gather(server.serve_forever(), crowd.note_stalls())


if __name__ == "__main__":
    asyncio.run(main())
