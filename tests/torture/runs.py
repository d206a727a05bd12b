"""A workflow of flows.py in a directory of its own: started, resumed, asked about, and what
it recorded, did and was asked for, compared with the same one undisturbed."""
import collections
import glob
import hashlib
import json
import os
import re
import signal
import subprocess
import time

import processes
from campaign import check
from crash_record import whole_lines
from crash_world import write
from model import answer_id, answered_by

QUESTION = re.compile(r"awf-run: (\S+): .* may or may not have happened: say --redo (\S+)")
IN_RUN = re.compile(r" in run ([0-9a-f-]{36}),")
NULL = hashlib.sha256(b"null").hexdigest()
# What took longer hangs.
LIMIT = 60
# More attempts than this, and it never gets done.
ATTEMPTS = 60


def json_text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Transcript:
    """The whole lines of one, and what follows them."""

    def __init__(self, path):
        self.path = path
        self.lines, self.tail = whole_lines(path)
        self.events = [json.loads(line) for line in self.lines]

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    def status(self):
        """Of the run; None: it goes on, or died."""
        if not self.events or self.events[-1]["type"] != "run.completed":
            return None
        return self.events[-1]["payload"]["status"]


class Ledgers:
    """What happened outside: of each effect the run, the call and the input."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def entries(self):
        """[(ledger, run, call, input)]"""
        found = []
        for name in sorted(os.listdir(self.directory)):
            if name.startswith("flaky."):
                continue
            with open(os.path.join(self.directory, name), encoding="utf-8") as file:
                found += [(name, *line.rstrip("\n").split(" ", 2)) for line in file]
        return found

    def counts(self):
        """{(ledger, input): how often}"""
        return collections.Counter((name, given) for name, _, _, given in self.entries())


class Run:
    """One run of a flow in all its attempts. Its files are in base; what it does and prints
    is compared with calm, the undisturbed run, if that is given."""

    def __init__(self, case, flow, base, model, calm=None, environment=()):
        self.case, self.flow, self.base, self.model, self.calm = case, flow, base, model, calm
        self.work = os.path.join(base, "work")
        self.storage = os.path.join(base, "storage")
        self.ledgers = Ledgers(os.path.join(base, "ledgers"))
        self.more = dict(environment)
        flow.lay_out(self.work)
        # Steps in groups are given no keys by the environment.
        write(f"{base}/awf/keys", "ANTHROPIC_API_KEY=anthropic-test-key\n", 0o600)
        write(f"{base}/.local/share/awf/trust", f"edits {os.path.realpath(base)}\n", 0o600)
        self.id, self.err, self.out, self.asked, self.took = None, "", "", [], 0.0
        self.printed = ""   # by the last attempt that had anything left to do
        self.recorded = {}  # {run id: Transcript} after the attempt before
        self.answers = collections.Counter()  # on record then
        if calm:
            self.expected, self.multiplicity = calm.ledgers.counts(), calm.answered()

    def environment(self):
        return {"AWF_SYNC": "none", **os.environ, "AWF_STORAGE": self.storage,
                "HOME": self.base, "XDG_CONFIG_HOME": self.base, "LEDGERS": self.ledgers.directory,
                "ANTHROPIC_BASE_URL": self.model.url, **self.more}

    # Attempts.

    def start(self, arguments):
        self.case.note("awf-run " + " ".join(arguments))
        given = os.path.join(self.base, "stdin")
        write(given, self.flow.stdin)
        with open(given, "rb") as stdin, open(f"{self.base}/out", "wb") as out, \
                open(f"{self.base}/err", "wb") as err:
            self.began = time.monotonic()
            return subprocess.Popen(["awf-run", *arguments], cwd=self.work, stdin=stdin,
                                    stdout=out, stderr=err, env=self.environment())

    def finish(self, process):
        """Waits for its end and that of all it started. Its status, as of a shell's wait."""
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            told = self.describe(processes.adopted())
            processes.kill(processes.freeze(process.pid))
            check(False, f"it did not end within {LIMIT} s: {told}")
        self.took = time.monotonic() - self.began
        self.settle(status)
        self.asked = self.model.take()
        for name in ("out", "err"):
            with open(f"{self.base}/{name}", encoding="utf-8", errors="replace") as file:
                setattr(self, name, file.read())
        self.find()
        self.case.note(f"status {status}{': ' if self.err else ''}{self.err.strip()}")
        return status

    def settle(self, status):
        """Nothing stays behind: at once, unless awf-run itself or a guardian was killed."""
        if status not in (-signal.SIGKILL, 125):
            left = self.describe(processes.adopted())
            check(not left, f"processes are left: {left}")
        end = time.monotonic() + 15
        while left := processes.adopted():
            if time.monotonic() > end:
                told = self.describe(left)
                processes.kill(left)
                check(False, f"processes stay: {told}")
            time.sleep(0.001)

    @staticmethod
    def describe(pids):
        return [processes.of(pid, "cmdline") or processes.of(pid, "comm") for pid in pids]

    def attempt(self, answers=()):
        """One attempt, started or resumed: its status and whether it was disturbed."""
        arguments = ["--resume", self.id, *answers] if self.id else ["./flow.awf"]
        return self.finish(self.start(arguments)), False

    # The record.

    def transcripts(self):
        """{run id: Transcript}"""
        return {os.path.basename(path).removesuffix(".jsonl"): Transcript(path)
                for path in glob.glob(f"{self.storage}/transcripts/*.jsonl")}

    def find(self):
        """The id of the run once it has begun to be recorded."""
        if self.id is None:
            for name, transcript in self.transcripts().items():
                if transcript.events and "parent_run_id" not in transcript.events[0]:
                    self.id = name

    def answered(self, transcripts=None):
        """Of each answer on record how often."""
        if transcripts is None:
            transcripts = self.transcripts()
        return collections.Counter(
            answered_by(event["payload"]["blocks"]) for transcript in transcripts.values()
            for event in transcript.of("message.assistant") if not event["payload"].get("partial"))

    def verify(self, *options):
        run = subprocess.run(["awf-verify", *options, self.storage], env=self.environment(),
                             capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    def audit(self):
        """What must hold of the storage and the workspace when all is done."""
        status, told = self.verify("-q")
        check(status == 0, f"awf-verify: {status}: {told}")
        # That of a run which never began goes when runs are pruned, and so does that of a child
        # which died and which another try has made anew.
        begun = [run for run, transcript in self.transcripts().items() if transcript.lines and
                 (transcript.status() or "parent_run_id" not in transcript.of("run.started")[0])]
        left = [name for name in os.listdir(f"{self.storage}/runs") if name[:36] in begun]
        check(not left, f"runs/ still has {left}")
        left = [name for name in os.listdir(self.work) if name.endswith(".tmp")]
        # A file has its temporary name from one system call to the next: a kill may hit it there.
        check(len(left) <= 1, f"the workspace still has {left}")

    # Questions.

    def questions(self):
        """[(path to answer, what is right)]: the truth, from the ledgers."""
        found = []
        for line in self.err.splitlines():
            if match := QUESTION.match(line):
                within = IN_RUN.search(line)
                run = within.group(1) if within else self.id
                found.append((match.group(2), self.truth(run, match.group(1))))
        return found

    def truth(self, run, path):
        """--skip if what was begun has happened, else --redo."""
        path = re.sub(r"/[\w-]+#\d+$", "", path)  # of a tool's call: its step's
        transcript = self.transcripts()[run]
        started = [event for event in transcript.of("step.started")
                   if path == event["payload"]["call"] or
                   path.endswith("/" + event["payload"]["call"])]
        check(started, f"asked about {path}, which run {run} has not begun")
        # The longest: the others are calls of the same name in another enclosing call.
        longest = max(len(event["payload"]["call"]) for event in started)
        event = [event for event in started if len(event["payload"]["call"]) == longest][-1]
        happened = self.tool_happened(transcript, event["payload"]["call"]) \
            if event["payload"]["kind"] in ("agent", "operation") else self.step_happened(transcript, event)
        return "--skip" if happened else "--redo"

    def step_happened(self, transcript, event):
        """By this call or one that it goes on with: others may have the same input."""
        payload = event["payload"]
        started = {each["event_id"]: each for each in transcript.of("step.started")}
        calls = {payload["call"]}
        while event := started.get(event["payload"].get("claims")):
            calls.add(event["payload"]["call"])
        for ledger, _, call, given in self.ledgers.entries():
            digests = [hashlib.sha256(text.encode()).hexdigest()
                       for text in (json_text(given), given)]
            if ledger == payload["name"] and call in calls and \
                    payload["input_sha256"] in [NULL, *digests]:
                return True
        return False

    def tool_happened(self, transcript, call):
        """Whether the last tool of the call that is no repeatable one has happened."""
        within, last = False, None
        ids = {event["event_id"] for event in transcript.of("step.started")
               if event["payload"]["call"] == call}
        for event in transcript.events:
            if event["type"] in ("message.user", "message.assistant", "tool.call", "tool.result"):
                within = event["parent_event_id"] in ids
                if within:
                    ids.add(event["event_id"])
            if event["type"] == "tool.call" and within and \
                    event["payload"]["name"] in ("mail", "jot"):
                last = event["payload"]
        check(last, f"asked about {call}, which has begun no such tool")
        return (last["name"], json_text(last["input"])) in self.ledgers.counts()

    # What must hold after every attempt.

    def check_kept(self):
        """The lines that were there are there still; what was torn was put aside."""
        now = self.transcripts()
        for run, before in self.recorded.items():
            check(run in now, f"the transcript of {run} is gone")
            lines = now[run].lines
            check(lines[:len(before.lines)] == before.lines, f"recorded lines of {run} changed")
            if before.tail and (len(lines) > len(before.lines) or not now[run].tail):
                with open(before.path.removesuffix(".jsonl") + ".torn", "rb") as file:
                    check(before.tail in file.read(), "a torn line was not kept")
        self.recorded = now

    def check_asked(self):
        """No answer that was on record was asked for again."""
        for request in set(self.asked):
            check(request in self.multiplicity, f"{request} was asked, and not undisturbed")
            if self.multiplicity[request] == 1:
                check(not self.answers[request],
                      f"{request} was asked again after its answer was recorded")
                check(self.asked.count(request) == 1, f"{request} was asked twice in one attempt")
        self.answers = self.answered(self.recorded)

    def check_ledgers(self, done):
        have = self.ledgers.counts()
        for effect in sorted(have.keys() | self.expected.keys()):
            kind, wanted, came = self.flow.kinds[effect[0]], self.expected[effect], have[effect]
            if kind == "any":
                continue
            told = f"effect {effect} happened {came} times, "
            if kind == "most":
                most = max(1, wanted)  # of two items that look the same
                check(came <= most, f"{told}at most {most} is right")
                continue
            if kind == "once" or not wanted:
                check(came <= wanted, f"{told}{wanted} is right")
            if done:
                check(came >= wanted, f"{told}{wanted} is right")

    # From the first attempt to the last.

    def until_done(self):
        answers = []
        for _ in range(ATTEMPTS):
            resumed = self.id is not None
            status, disturbed = self.attempt(answers)
            self.check_kept()
            self.check_asked()
            self.check_ledgers(False)
            if self.out:
                self.printed = self.out
            if status == 0:
                return self.check_done()
            if status == 75 and not disturbed:
                answers = self.decide(resumed)
                continue
            answers = []
            if not disturbed:
                check(status == 3 and self.flow.flaky > 0, f"fails undisturbed: {self.err}")
        check(False, "it never gets done")

    def decide(self, resumed):
        """The right answers to what it asks."""
        questions = self.questions()
        check(resumed and questions, f"waits without a question: {self.err}")
        check(not self.asked and not self.out, "something ran before the answers")
        self.case.counts["questions"] += len(questions)
        return [word for path, option in questions for word in (option, path)]

    def check_done(self):
        check(self.recorded[self.id].status() == "success", "no success is recorded")
        check(self.printed == self.calm.out,
              f"printed {self.printed!r}, {self.calm.out!r} is right")
        self.check_ledgers(True)
        self.audit()


def calm_run(case, flow, model, base, environment=()):
    """The undisturbed run of a flow."""
    run = Run(case, flow, base, model, environment={"CALM": "1", **dict(environment)})
    status, _ = run.attempt()
    check(status == 0, f"the undisturbed run: {status}: {run.err}")
    run.audit()
    return run
