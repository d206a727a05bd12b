#!/usr/bin/env python3
"""A server of the Chat Completions API for hundreds of requests at the same time:

many-server.py PORT_FILE LOG [CERTIFICATE KEY]

The last word of what the user says in a request is how it is answered, after the words before it:

ok             at once
wait:SECONDS   after that time
hang           never
together:N     once N of these are there
large:BYTES    with so many, in pieces of 16 KiB
later:BYTES    the same, half a second later
half:SECONDS   the text at once, and the end after that time, which is written into LOG as "half"
event:BYTES    with so many in one event, whose last piece comes a second after the others
needs:KEY      at once, if that is the key of the request; else with status 401, after half a second
reset          the connection is reset, after half an answer

LOG has a line of JSON for each request when it has come, and when it has ended or its client has gone:
{"time", "event": "begin", "half", "end", "gone", "said", "connection", "at_once"}.
"""
import asyncio
import json
import os
import socket
import struct
import ssl
import sys
import time

LOG = open(sys.argv[2], "a", encoding="utf-8", buffering=1)
STATE = {"connections": 0, "at_once": 0, "together": 0}


def log(event, said, connection):
    LOG.write(json.dumps({"time": time.time(), "event": event, "said": said,
                          "connection": connection, "at_once": STATE["at_once"]}) + "\n")


def chunk(delta, reason=None):
    return b"data: " + json.dumps({
        "id": "c", "object": "chat.completion.chunk", "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).encode() + b"\n\n"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = chunk({}, "stop") + b"data: [DONE]\n\n"


async def send(writer, data):
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    await writer.drain()


async def answer(writer, said, key):
    how, _, argument = said.split()[-1].partition(":")
    if how == "hang":
        await asyncio.sleep(3600)
    if how == "together":
        STATE["together"] += 1
        while STATE["together"] < int(argument):
            await asyncio.sleep(0.02)
    if how == "wait":
        await asyncio.sleep(float(argument))
    if how == "needs" and key != argument:
        await asyncio.sleep(0.5)
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        return
    if how == "later":
        await asyncio.sleep(0.5)
    writer.write(HEAD)
    if how in ("large", "later"):
        for begin in range(0, int(argument), 16384):
            await send(writer, chunk({"content": "x" * min(16384, int(argument) - begin)}))
    elif how == "event":
        event = chunk({"content": "x" * int(argument)})
        for begin in range(0, len(event) - 100, 65536):
            await send(writer, event[begin:min(begin + 65536, len(event) - 100)])
        await asyncio.sleep(1)
        await send(writer, event[-100:])
    else:
        await send(writer, chunk({"content": "said " + said}))
    if how == "half":
        log("half", said, 0)
        await asyncio.sleep(float(argument))
    if how == "reset":
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                   struct.pack("ii", 1, 0))
        writer.transport.abort()
        raise ConnectionResetError
    await send(writer, END)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def serve_request(reader, writer, connection, body, key):
    said = json.loads(body)["messages"][-1]["content"]
    if isinstance(said, list):
        said = said[-1]["text"]
    said = said[-200:]
    STATE["at_once"] += 1
    log("begin", said, connection)
    answering = asyncio.ensure_future(answer(writer, said, key))
    # Nothing more is sent on a connection until its answer has come, but its end.
    reading = asyncio.ensure_future(reader.read(1))
    for task in (answering, reading):
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
    await asyncio.wait({answering, reading}, return_when=asyncio.FIRST_COMPLETED)
    gone = not answering.done()
    if gone:
        answering.cancel()
    STATE["at_once"] -= 1
    failed = gone or answering.exception() is not None or reading.done() and reading.exception()
    log("gone" if failed else "end", said, connection)
    if failed:
        return None
    return reading


async def serve(reader, writer):
    STATE["connections"] += 1
    connection, reading, first = STATE["connections"], None, b""
    try:
        while True:
            if reading is not None:
                first = await reading
                if not first:
                    break
            head = first + await reader.readuntil(b"\r\n\r\n")
            length = [int(line.split(b":")[1]) for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:")]
            if not length:
                writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                break
            body = await reader.readexactly(length[0])
            key = [line.split()[-1].decode() for line in head.split(b"\r\n")
                   if line.lower().startswith(b"authorization:")]
            reading = await serve_request(reader, writer, connection, body, key[0] if key else "")
            if reading is None:
                break
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    context = None
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=4096, ssl=context,
                                        limit=64 << 20)
    with open(sys.argv[1] + ".new", "w", encoding="utf-8") as port:
        port.write(str(server.sockets[0].getsockname()[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    await server.serve_forever()

asyncio.run(main())
