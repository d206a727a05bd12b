"""A model server whose answers are a function of the request: of the agent, known by its
system prompt, of the text it was given, and of the turn. What it was asked is kept."""
import hashlib
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from crash_world import stream


def answer_id(agent, text, turn):
    """Stands in the answer, so that an answer on record tells what it answered."""
    return "t" + hashlib.sha1(f"{agent}|{text}|{turn}".encode()).hexdigest()[:12]


def request_of(body):
    """(agent, its plan, text, turn): plan has of each turn the tools it calls."""
    system = body["system"]
    if not isinstance(system, str):
        system = "".join(block["text"] for block in system)
    agent, plan = re.search(r"agent (\w+) plan ?(\S*)", system).groups()
    content = body["messages"][0]["content"]
    if not isinstance(content, str):
        content = "".join(block.get("text", "") for block in content)
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    return agent, [tools.split(",") for tools in plan.split(";") if tools], content, turn


def answered_by(blocks):
    """The id of the request that these recorded blocks answer."""
    for block in blocks:
        if block["type"] == "tool_use":
            return block["tool_id"].partition("_")[0]
    text = "".join(block.get("text") or "" for block in blocks)
    return text.rpartition(" ")[2]


def answer(agent, plan, text, turn):
    own = answer_id(agent, text, turn)
    if turn < len(plan):
        return stream("tool_use", [
            {"type": "tool_use", "id": f"{own}_{index}", "name": tool,
             "input": {"for": f"{agent} {text} {turn}"}} for index, tool in enumerate(plan[turn])])
    return stream("end_turn", [{"type": "text", "text": f"{text}.{agent} {own}"}])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        agent, plan, text, turn = request_of(body)
        with self.server.lock:
            self.server.asked.append(answer_id(agent, text, turn))
            if self.server.kept:
                with open(self.server.kept, "a", encoding="utf-8") as file:
                    file.write(f"asked\t{answer_id(agent, text, turn)}\n")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in answer(agent, plan, text, turn):
            line = json.dumps(event, separators=(",", ":"))
            self.wfile.write(f"event: {event['type']}\ndata: {line}\n\n".encode())
            time.sleep(0.0005)
        self.close_connection = True

    def handle(self):
        with self.server.lock:
            self.server.busy += 1
        try:
            super().handle()
        except (OSError, ValueError):
            pass  # the client was killed
        finally:
            with self.server.lock:
                self.server.busy -= 1

    def log_message(self, *arguments):
        pass


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments):
        pass


class Model:
    def __init__(self):
        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.server.lock, self.server.asked, self.server.busy = threading.Lock(), [], 0
        self.server.kept = None
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def keep(self, path):
        """From now on the ids are also entered into this file (None: no more)."""
        self.server.kept = path

    def take(self):
        """The ids of what was asked since the last time, once what is on its way has come."""
        quiet = 0
        while quiet < 3:
            time.sleep(0.001)
            quiet = quiet + 1 if self.server.busy == 0 else 0
        with self.server.lock:
            asked, self.server.asked = self.server.asked, []
        return asked

    def stop(self):
        self.server.shutdown()
