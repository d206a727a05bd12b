#!/usr/bin/python3
"""Kills a workflow at random moments, resumes it until it is done, and checks that no
effect happened twice unasked, no answered request was sent again, nothing was lost.

usage: crash.py [--rounds N] [--seed S] [--only ROUND] [--kill everything|run|one|power]
--kill says what dies: all processes at once, awf-run alone, any one process, or the
machine, and with it what was not synced (see crash_storage.py).

The choices of a round follow from the seed and its number; when exactly a process is
hit does not, so a round that failed may need a few tries with --only ROUND --repeat N.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import crash_world
from crash_storage import Disk
from crash_record import Record
from crash_world import REPEATABLE, TOOLS, World

CALL = re.compile(r"(?<![\w:/])[\w-]+:\d+:\d+(?:/[\w-]+:\d+:\d+)*(?=/[\w-]+#\d|(?![\w:/]))")
# More kills than this would make a round no harder, only longer.
KILLS = 6


class Failure(Exception):
    pass


def check(true, what):
    if not true:
        raise Failure(what)


class Round:
    def __init__(self, world, server, options, number):
        self.world, self.server, self.options, self.number = world, server, options, number
        self.random = random.Random(f"{options.seed}:{number}")
        self.mark = f"CRASH_ROUND={os.getpid()}.{number}"
        self.base = os.path.join(world.directory, f"round-{number}")
        self.storage = os.path.join(self.base, "disk", "storage")
        self.source, self.jobs = self.random.choice((0, 0, 1)), self.random.choice((1, 2, 4))
        self.run = None
        self.disk = Disk(os.path.join(self.base, "disk"), os.path.join(self.base, "books"))
        self.log = []           # what was done, for the report of a failure
        self.redos = {}         # effect: how often it was said to be done again
        self.skipped = set()    # calls of commands that were taken as done
        self.touched = set()    # calls that anything was skipped of, at any time
        self.answered = set()   # requests whose answer was on record at the last kill
        self.ended = {}         # what had ended well at the last kill: times it happened
        self.bodies = {}        # of each request its bytes
        self.sent = []          # requests of the last attempt
        self.printed = ""       # by the last attempt that had anything left to do
        self.feeds = []

    def note(self, text):
        self.log.append(text)

    # The run.

    def environment(self):
        name, _, value = self.mark.partition("=")
        library = os.path.join(os.environ["BUILD"], "tests/fault/powercut.so")
        power = self.disk.environment(library) if self.options.kill == "power" else {}
        return {**os.environ, **power, name: value, "AWF_STORAGE": self.storage,
                "LEDGERS": self.world.ledgers, "EFFECT_MS": str(self.options.effect_ms),
                "ANTHROPIC_BASE_URL": self.server.url, "ANTHROPIC_API_KEY": "test-key",
                "AWF_SYNC": self.options.sync or ("step" if power else "none")}

    def start(self, arguments):
        """awf-run with these arguments, its files in base."""
        self.note("awf-run " + " ".join(arguments))
        if self.options.kill == "power":
            self.disk.begin()
        stdin = os.path.join(self.base, "stdin")
        crash_world.write(stdin, self.world.stdin(self.source))
        piped = self.random.random() < 0.5
        with open(stdin, "rb") as given, open(f"{self.base}/out", "wb") as out, \
                open(f"{self.base}/err", "wb") as err:
            feed = subprocess.Popen(["cat"], stdin=given, stdout=subprocess.PIPE) if piped else None
            process = subprocess.Popen(
                ["awf-run", "--id-file", f"{self.base}/id", *arguments], cwd=self.world.work,
                env=self.environment(), stdin=feed.stdout if piped else given, stdout=out,
                stderr=err)
            if piped:
                feed.stdout.close()
                self.feeds.append(feed)
        return process

    def err(self):
        with open(f"{self.base}/err", encoding="utf-8", errors="replace") as file:
            return file.read()

    def out(self):
        with open(f"{self.base}/out", encoding="utf-8", errors="replace") as file:
            return file.read()

    def transcript(self):
        return os.path.join(self.storage, "transcripts", f"{self.run}.jsonl")

    def record(self):
        return Record(self.transcript())

    def find_run(self):
        """The id of the run, if it has begun to be recorded."""
        directory = os.path.join(self.storage, "transcripts")
        names = os.listdir(directory) if os.path.isdir(directory) else []
        names = [name for name in names if name.endswith(".jsonl")]
        check(len(names) <= 1, f"transcripts: {names}")
        if names:
            self.run = names[0].removesuffix(".jsonl")
            if not self.record().lines:
                self.run = None
                os.unlink(os.path.join(directory, names[0]))
        return self.run

    # One attempt, and death.

    def arguments(self, answers):
        if self.run is None:
            return ["./flow.awf"]
        return ["--resume", self.run, *answers]

    def attempt(self, answers, moment):
        """Starts or resumes, kills after moment seconds unless it ended. Whether it did."""
        self.struck = False
        process, began = self.start(self.arguments(answers)), time.monotonic()
        if moment is not None:
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                self.strike(process)
        try:
            self.status = process.wait(60)
            self.took = time.monotonic() - began
        except subprocess.TimeoutExpired:
            crash_world.kill(crash_world.freeze(process.pid, self.mark.encode()))
            raise Failure("it does not end") from None
        while self.feeds:
            feed = self.feeds.pop()
            feed.kill()
            feed.wait()
        self.server.settle()
        mark = self.mark.encode()
        crash_world.until(lambda: not crash_world.marked(mark))
        if self.options.kill == "power" and self.status == -signal.SIGKILL:
            for line in self.disk.cut(self.random):
                self.note(line)
        return self.status

    def strike(self, process):
        frozen = crash_world.freeze(process.pid, self.mark.encode())
        if not frozen:
            return
        victims = frozen
        if self.options.kill == "run":
            victims = [process.pid]
        elif self.options.kill == "one":
            victims = [self.random.choice(frozen)]
        self.struck = True
        self.note(f"kill {len(victims)} of {len(frozen)}")
        crash_world.kill(victims)
        for pid in frozen:
            if pid not in victims:
                crash_world.signal_quietly(pid, signal.SIGCONT)

    # What must hold after each attempt.

    def effect_of(self, key):
        """The start of the ledger's entry for what a key of the record stands for."""
        if isinstance(key, str):
            ledgers = {"fetch": "command_none" if self.source else "command_read", "stamp": "stamp",
                       "send": "external", "join": "command_undeclared", "work": None}
            return (ledgers[key.partition(":")[0]], key)
        item, turn, tool = key[1].rsplit("_", 2)
        return (tool, key[0], json.dumps({"for": f"{item} {turn}"}, separators=(",", ":")))

    def times(self, key, happened):
        """How often what a key of the record stands for has happened."""
        effect = self.effect_of(key)
        return sum(count for entry, count in happened.items() if entry[:len(effect)] == effect)

    def check_requests(self):
        """None that had been answered was sent again, none was sent twice in an attempt."""
        seen = set()
        self.sent = self.server.requests()
        for key, body in self.sent:
            check(key not in self.answered, f"{key} was sent again after its answer was recorded")
            if self.options.kill == "one":
                continue  # a provider that died is asked again, a dead tool's result differs
            check(key not in seen, f"{key} was sent twice in one attempt")
            seen.add(key)
            index = self.world.items.index(key[0])
            if not any(call.endswith(f":{index}") for call in self.touched):
                check(self.bodies.setdefault(key, body) == body,
                      f"{key} is another request:\n{self.bodies[key]}\n{body}")

    def check_ended(self, happened):
        for key, times in self.ended.items():
            now = self.times(key, happened)
            check(now == times, f"{key} had ended, yet happened again ({times}, now {now})")

    def check_limits(self, happened):
        for (ledger, call, given), count in happened.items():
            if ledger not in REPEATABLE:
                allowed = 1 + self.redos.get((ledger, call, given), 0)
                check(count <= allowed,
                      f"{ledger} of {call} for {given} happened {count} times of {allowed}")

    def check_kept(self, before):
        """The lines that stood there before stand there still."""
        now = self.record()
        check(now.lines[:len(before.lines)] == before.lines, "recorded lines have changed")
        if before.tail and len(now.lines) > len(before.lines):
            with open(self.transcript().removesuffix(".jsonl") + ".torn", "rb") as file:
                check(before.tail in file.read(), "the torn line was not kept")

    def after(self, before):
        """Checks what an attempt did, and remembers what it recorded."""
        happened = self.world.happened()
        self.check_requests()
        self.check_ended(happened)
        self.check_limits(happened)
        if self.find_run() is None:
            risky = {effect for effect in happened if effect[0] not in REPEATABLE}
            check(before is None, "the record is gone")
            check(not risky, f"something happened without a record: {risky}")
            return None
        if before is not None:
            self.check_kept(before)
        record = self.record()
        attempts = record.attempts
        check(attempts == list(range(1, len(attempts) + 1)), f"attempts: {attempts}")
        items = self.world.items
        self.answered = {(items[index], turn) for index, turn in record.answered}
        self.ended = {key: self.times(key, happened) for key in record.ended()}
        if before is None or before.status() != "success":
            self.printed = self.out()
        return record

    # Questions and answers.

    def check_question(self, before):
        """The run was not resumed because of what it asks: rightly, and nothing ran."""
        required = set(before.unresolved())
        told = {call for line in self.err().splitlines() for call in CALL.findall(line)}
        check(told and required <= told <= required | before.harmless(),
              f"asked about {sorted(told)}, unresolved are {sorted(required)}: {self.err()}")
        check(self.out() == "", f"printed {self.out()!r} before the answers")
        return told

    def check_nothing_ran(self, before, happened):
        check(self.record().lines == before.lines, "written before the answers")
        check(self.world.happened() == happened, "something ran before the answers")
        check(not self.sent, "something was sent before the answers")

    def decide(self, told, before):
        """Answers for all that was asked, some of them for all calls of a step."""
        answers = []
        for step in sorted({call.partition(":")[0] for call in told}):
            calls = sorted(call for call in told if call.partition(":")[0] == step)
            groups = [(call, [call]) for call in calls]
            if self.random.random() < 0.3:
                groups = [(step, calls)]
            for path, group in groups:
                option = self.random.choice(("--redo", "--skip"))
                answers += [option, path]
                for call in group:
                    self.answer(option, call, before.unresolved().get(call, [call]))
        return answers

    def answer(self, option, call, whats):
        if option == "--skip":
            self.touched.add(call)
            self.skipped.add(call)
            return
        self.skipped.discard(call)
        for what in whats:
            effect = self.effect_of(call if what == call else (call, what))
            for entry in self.world.happened():
                if entry[:len(effect)] == effect:
                    self.redos[entry] = self.redos.get(entry, 0) + 1

    # The end.

    def expected(self):
        results = []
        for index, item in enumerate(self.world.items):
            report = f"report on {item}"
            sent = f"send:0:{index}" not in self.skipped
            results.append(f"sent({report})" if sent else report)
        return json.dumps(results, separators=(",", ":")) + "\n"

    def check_end(self, record):
        check(self.printed == self.expected(),
              f"printed {self.printed!r} instead of {self.expected()!r}")
        check(record.status() == "success", f"the run is {record.status()}")
        run = subprocess.run(["awf-verify", self.run], env=self.environment(),
                             capture_output=True, text=True, check=False)
        check(run.returncode == 0, f"awf-verify: {run.returncode}: {run.stdout}{run.stderr}")
        self.check_nothing_lost(record)
        self.check_final(record)

    def check_nothing_lost(self, record):
        """What is said to have happened has."""
        happened = self.world.happened()
        for key in record.ended():
            call = key if isinstance(key, str) else key[0]
            if self.effect_of(key)[0] is not None and call not in self.touched:
                check(self.times(key, happened) > 0, f"{key} is said to have happened")

    def check_final(self, record):
        happened = self.world.happened()
        status = self.attempt([], None)
        check(status == 0, f"resuming a success: {status}: {self.err()}")
        check(self.err() != "", "resuming a success says nothing")
        check(self.record().lines == record.lines, "resuming a success writes")
        check(self.world.happened() == happened and not self.server.requests(),
              "resuming a success does something")

    def moment(self, kills):
        """When the next attempt is to die; None: it may end."""
        if kills > 0 and self.random.random() > 0.7 or kills >= KILLS:
            return None
        return self.random.uniform(0, self.options.duration)

    def lay_out(self):
        os.makedirs(os.path.join(self.base, "disk"))
        self.world.clear_ledgers()
        self.world.workflow(self.source, self.jobs)
        self.server.requests()
        if self.random.random() < 0.5:  # else this is the first run of its storage
            for name in ("transcripts", "blobs", "inputs", "runs"):
                os.makedirs(f"{self.storage}/{name}", 0o700)

    def step(self, record, answers, moment):
        """One attempt, and what it leaves: whether it ended, the record, the answers to
        what it asked."""
        happened = self.world.happened()
        status = self.attempt(answers, moment)
        self.note(f"status {status} {self.err().strip()}")
        now = self.after(record)
        if record is not None and record.unresolved() and not answers:
            check(status in (75, -signal.SIGKILL), f"status {status}, no question: {self.err()}")
            self.check_nothing_ran(record, happened)
        if status == 75 and record is not None and not answers:
            return False, now, self.decide(self.check_question(record), record)
        check(status in (0, -signal.SIGKILL) or self.struck and self.options.kill == "one",
              f"status {status}: {self.err()}")
        return status == 0, now, []

    def play(self):
        self.lay_out()
        kills, record, answers, done = 0, None, [], False
        while not done:
            check(kills < 10 * KILLS, "it never gets done")
            done, record, answers = self.step(record, answers, self.moment(kills))
            kills += not done and not answers
        self.check_end(record)
        return kills


def measure(world, server, options):
    """How long an undisturbed run takes; and that the checks hold for it."""
    undisturbed = Round(world, server, options, "undisturbed")
    undisturbed.lay_out()
    status = undisturbed.attempt([], None)
    options.duration = undisturbed.took
    check(status == 0, f"an undisturbed run: {status}: {undisturbed.err()}")
    record = undisturbed.after(None)
    check(not record.unresolved(), "an undisturbed run leaves questions")
    happened = world.happened()
    check(all(count == 1 for count in happened.values()), f"an undisturbed run repeats: {happened}")
    check({ledger for ledger, _, _ in happened} >= set(TOOLS), f"ledgers: {happened}")
    check(undisturbed.out() == undisturbed.expected(), f"printed {undisturbed.out()!r}")
    return undisturbed


def tell(what, options, failure, this):
    print(f"{what}, seed {options.seed}: {failure!r}", *this.log, f"see {this.base}", sep="\n  ")


def play_rounds(options, world, server):
    measure(world, server, options)
    kills, failures, played = 0, 0, 0
    if options.only is not None:
        numbers = [options.only] * options.repeat
    else:  # a few rounds more, if chance has killed nothing in the first
        numbers = range(options.rounds + 10)
    for number in numbers:
        if options.only is None and number >= options.rounds and kills:
            break
        played += 1
        this = Round(world, server, options, number)
        shutil.rmtree(this.base, ignore_errors=True)
        try:
            kills += this.play()
            shutil.rmtree(this.base)
        except (Failure, AssertionError) as failure:
            failures += 1
            tell(f"round {number}", options, failure, this)
            if failures >= options.failures:
                break
    print(f"{played} rounds, seed {options.seed}, {kills} kills, {failures} failures")
    if not kills and not failures and options.only is None:
        print("nothing was killed")
        return 1
    return failures


def with_world(options, play):
    """Plays in a world of its own, which stays if something failed."""
    directory = os.path.abspath(options.directory or tempfile.mkdtemp(prefix="crash."))
    items = ["item-a", "item-b", "item-c"][:options.items]
    world = World(directory, items)
    server = crash_world.Server(directory, items, options.slow_ms)
    print(f"seed {options.seed}", flush=True)
    try:
        failures = play(options, world, server)
    finally:
        server.stop()
    if failures == 0 and options.directory is None:
        shutil.rmtree(directory)
    sys.exit(1 if failures else 0)


def parser_of(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", type=int, help="one round, or line")
    parser.add_argument("--items", type=int, default=2)
    parser.add_argument("--effect-ms", type=int, default=6)
    parser.add_argument("--slow-ms", type=int, default=2)
    parser.add_argument("--failures", type=int, default=1, help="go on until so many failed")
    parser.add_argument("--sync", help="AWF_SYNC; by default what the kind of death needs")
    parser.add_argument("--directory", help="work here, and leave it")
    return parser


def main():
    parser = parser_of("Kills a workflow at random moments, and resumes it.")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=1, help="how often to play --only")
    parser.add_argument("--kill", choices=("everything", "run", "one", "power"),
                        default="everything")
    with_world(parser.parse_args(), play_rounds)


if __name__ == "__main__":
    main()
