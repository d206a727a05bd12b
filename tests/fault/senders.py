"""Many awf-record at once, some of them killed, from a seed; or, with $URL and $TOKEN, many who
send to an awf-serve, some of whom are cut off, whatever becomes of that meanwhile.

python3 senders.py lines DIRECTORY SEED SENDERS ROUNDS
    sends the transcripts of DIRECTORY, in pieces, doubled, in disorder, cut off anywhere, until
    the storage has the same. At any time each transcript there is a beginning of its original,
    and as long as was acknowledged.
python3 senders.py events RUN SEED SENDERS COUNT
    sends so many events, each by several senders and until one was acknowledged, to a run. In
    the end each is there once.
"""
import glob
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

STORAGE = os.environ["AWF_STORAGE"]
URL, TOKEN = os.environ.get("URL"), os.environ.get("TOKEN")
faults = []
accepted = threading.Lock()


def fault(text):
    faults.append(text)
    print(text, file=sys.stderr)


def record(rng, body, *arguments):
    """Sends the body to a new awf-record, in pieces; it is killed meanwhile one time in three.
    What it acknowledged, as objects; its exit status, None if it was killed."""
    program = subprocess.Popen(["awf-record", *arguments], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    answers = []

    def listen():
        for line in program.stdout:
            if line.endswith(b"\n"):
                answers.append(json.loads(line))

    listener = threading.Thread(target=listen)
    listener.start()
    killed = rng.randrange(3) == 0
    at = 0
    try:
        while at < len(body):
            piece = rng.randrange(1, 20000)
            program.stdin.write(body[at:at + piece])
            program.stdin.flush()
            at += piece
            if rng.randrange(10) == 0:
                time.sleep(rng.random() / 100)
            if killed and rng.randrange(max(1, len(body) // 10000)) == 0:
                break
        if not killed:
            program.stdin.close()
    except BrokenPipeError:
        pass
    if killed:
        time.sleep(rng.random() / 50)
        program.send_signal(signal.SIGKILL)
    status = program.wait()
    listener.join()
    try:
        program.stdin.close()
    except BrokenPipeError:
        pass
    return answers, None if status == -signal.SIGKILL else status


def pieces(rng, body, cut):
    """The body in pieces of any size; cut: it may end anywhere, with an error."""
    at = 0
    while at < len(body):
        piece = rng.randrange(1, 20000)
        yield body[at:at + piece]
        at += piece
        if rng.randrange(10) == 0:
            time.sleep(rng.random() / 100)
        if cut and rng.randrange(max(1, len(body) // 10000)) == 0:
            raise ConnectionAbortedError


def post(rng, body):
    """Sends the body to the server, as curl does, or in chunks; one time in three it is cut off.
    The answer and its status; None: there was none, as the server was killed, too."""
    cut = rng.randrange(3) == 0
    headers = {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/x-ndjson"}
    chunked = rng.randrange(2) == 0
    if not chunked:
        headers["Content-Length"] = str(len(body))
    connection = http.client.HTTPConnection(URL.split("//")[1], timeout=30)
    try:
        connection.request("POST", "/api/ingest", pieces(rng, body, cut), headers, encode_chunked=chunked)
        response = connection.getresponse()
        return json.loads(response.read()), response.status
    except (OSError, http.client.HTTPException):
        time.sleep(rng.random() / 20)
        return None, None
    finally:
        connection.close()


def there(run):
    try:
        with open("%s/transcripts/%s.jsonl" % (STORAGE, run), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


class NeverCut(random.Random):
    def randrange(self, start, stop=None, step=1):
        return 1 if stop is None else super().randrange(start, stop, step)


NEVER_CUT = NeverCut(1)


class Lines:
    def __init__(self, directory):
        self.lines = {}
        for path in sorted(glob.glob(directory + "/*.jsonl")):
            with open(path, "rb") as file:
                self.lines[os.path.basename(path)[:-6]] = file.read().splitlines(keepends=True)

    def check(self, answers):
        for run, lines in self.lines.items():
            told = max([a["seq"] for a in answers if a["run_id"] == run], default=0)
            here = there(run)
            whole = here[:here.rfind(b"\n") + 1]
            if not b"".join(lines).startswith(whole):
                fault("%s is no beginning of its original" % run)
            if whole.count(b"\n") < told:
                fault("%s has %d lines, %d were acknowledged" % (run, whole.count(b"\n"), told))

    def body(self, rng):
        batches = []
        for run, lines in self.lines.items():
            begin = rng.choice([0, 0, there(run).count(b"\n"), rng.randrange(len(lines))])
            while begin < len(lines) and len(batches) < 12:
                end = min(len(lines), begin + rng.randrange(1, 40))
                batches.append(b"".join(lines[begin:end]))
                if rng.randrange(4) == 0:
                    batches.append(batches[-1])
                begin = end
        if rng.randrange(2) == 0:
            rng.shuffle(batches)
        body = b"".join(batches)
        return body[:rng.randrange(len(body) + 1)] if rng.randrange(3) == 0 else body

    def post(self, rng):
        """Sends a body to the server: what it took are the first lines of that."""
        body = self.body(rng)
        answer, status = post(rng, body)
        # 400: it was cut off in a line; 409: a gap. Nothing is another's, or another line.
        if status not in (200, 400, 409, None) or (status == 409 and answer["error"]["code"] != "gap"):
            fault("the server answered %s %s" % (status, answer))
        if answer is None:
            return
        lines = body.splitlines()[:answer["accepted"] + answer["duplicates"]]
        self.check([json.loads(line) for line in lines])

    def send(self, seed, rounds):
        rng = random.Random(seed)
        for _ in range(rounds):
            if URL:
                self.post(rng)
                continue
            answers, status = record(rng, self.body(rng), "--origin", "them")
            # 1: it was cut off in a line; 3: a gap. Nothing is another's, or another line.
            if status not in (0, 1, 3, None):
                fault("awf-record exited %s" % status)
            self.check(answers)

    def finish(self):
        everything = b"".join(b"".join(lines) for lines in self.lines.values())
        if URL:
            end = time.monotonic() + 60
            while post(NEVER_CUT, everything)[1] is None and time.monotonic() < end:
                time.sleep(0.1)
            return self.compare()
        program = subprocess.run(["awf-record", "-q", "--origin", "them"], input=everything, check=False)
        if program.returncode != 0:
            fault("the last exited %d" % program.returncode)
        return self.compare()

    def compare(self):
        for run, lines in self.lines.items():
            if there(run) != b"".join(lines):
                fault("%s is not its original" % run)


class Events:
    def __init__(self, run, count):
        self.run = run
        self.waiting = {"id %d" % i for i in range(count)}
        self.ids = sorted(self.waiting)

    def send(self, seed, _):
        rng = random.Random(seed)
        end = time.monotonic() + 600
        while self.waiting and not faults:
            if time.monotonic() > end:
                return fault("%d have not been acknowledged" % len(self.waiting))
            # Those that nobody has heard of, and some that somebody has.
            ids = rng.sample(self.ids, min(30, len(self.ids)))
            with accepted:
                ids += rng.sample(sorted(self.waiting), min(60, len(self.waiting)))
            rng.shuffle(ids)
            body = "".join(json.dumps({"type": "x.event", "event_id": i, "runId": self.run, "payload": {
                "text": "x" * rng.randrange(2000)}}) + "\n" for i in ids).encode()
            if URL:
                answer, status = post(rng, body)
                if status not in (200, 400, None):
                    fault("the server answered %s %s" % (status, answer))
                answers = [{"event_id": i} for i in ids[:answer["accepted"] + answer["duplicates"]]] if answer else []
            else:
                answers, status = record(rng, body, self.run)
                if status not in (0, None):
                    fault("awf-record exited %s" % status)
            recorded = self.recorded()
            for answer in answers:
                if recorded.count(answer["event_id"]) != 1:
                    fault("%s was acknowledged, and is there %d times" %
                          (answer["event_id"], recorded.count(answer["event_id"])))
            with accepted:
                self.waiting -= {answer["event_id"] for answer in answers}

    def recorded(self):
        here = there(self.run)
        lines = here[:here.rfind(b"\n") + 1].splitlines()
        return [json.loads(line)["payload"]["source"]["event_id"] for line in lines if b'"x.event"' in line]

    def finish(self):
        if sorted(self.recorded()) != self.ids:
            fault("not each is there once")


def main():
    kind, what, seed, senders, count = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
    work = Lines(what) if kind == "lines" else Events(what, count)
    threads = [threading.Thread(target=work.send, args=(seed * 1000 + i, count)) for i in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work.finish()
    print("seed %d: %d faults" % (seed, len(faults)))
    return 1 if faults else 0


sys.exit(main())
