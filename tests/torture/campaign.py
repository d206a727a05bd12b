"""What the campaigns share: the seed, how long, one case after the other, the report.

Environment: TORTURE_SEED (else random, printed first), TORTURE_SECONDS (10), CYCLES (ends
by this count instead), ONLY=k (that case alone, REPEAT times), JOBS (cases at a time, 1),
TORTURE_STOP=1 (ends with the first violation), BUILD (whose programs are tested), TMPDIR.
A case is decided by the seed and its number.
"""
import collections
import multiprocessing
import os
import queue
import random
import shutil
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, os.path.join(ROOT, "tests", "fault"))


class Violation(Exception):
    """What came is not what is right."""


def check(true, what):
    if not true:
        raise Violation(what)


class Case:
    """One case: its random choices, a directory, notes of what was done."""

    def __init__(self, campaign, seed, number):
        self.name, self.seed, self.number = campaign, seed, number
        self.random = random.Random(f"{campaign}:{seed}:{number}")
        self.directory = tempfile.mkdtemp(prefix=f"{campaign}.{number}.")
        self.notes, self.cycles = [], 0
        self.counts = collections.Counter()  # of whatever else is worth a word at the end

    def note(self, text):
        self.notes.append(text)

    def tell(self, what):
        lines = [f"{self.name}: violation: {what}", *(f"  {note}" for note in self.notes),
                 f"  kept: {self.directory}",
                 f"  again: TORTURE_SEED={self.seed} ONLY={self.number} tests/torture/{self.name}"]
        return "\n".join(lines)


def number_from(name, default):
    value = os.environ.get(name, "")
    return int(value) if value else default


def prepare_environment():
    """As tests/run does it."""
    build = os.environ.setdefault("BUILD", os.path.join(ROOT, "build"))
    below = ("bin", "tests/support", "tests/fault")
    os.environ["PATH"] = ":".join([f"{build}/{name}" for name in below] + [os.environ["PATH"]])
    for name in [name for name in os.environ if name.startswith("AWF_")]:
        del os.environ[name]
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        os.environ.pop(name, None)
    os.environ["no_proxy"] = "127.0.0.1"


def play_case(campaign, play, seed, number, world):
    """(cycles, what else was counted, the report of a violation or None)"""
    case = Case(campaign, seed, number)
    try:
        play(case, world)
    except (Violation, AssertionError) as violation:
        return case.cycles, case.counts, case.tell(violation)
    except Exception:
        return case.cycles, case.counts, case.tell(traceback.format_exc())
    shutil.rmtree(case.directory, ignore_errors=True)
    return case.cycles, case.counts, None


def work(campaign, play, make_world, seed, numbers, until, done, stop, results):
    world = make_world() if make_world else None
    for number in numbers:
        if until():
            break
        result = play_case(campaign, play, seed, number, world)
        with done.get_lock():
            done.value += result[0]
        if result[2] and os.environ.get("TORTURE_STOP"):
            stop.value = 1
        results.put(result)
    if world:
        world.stop()
    results.put(None)


class Tally:
    def __init__(self, name):
        self.name, self.began, self.told = name, time.monotonic(), time.monotonic()
        self.cases = self.cycles = self.violations = 0
        self.counts = collections.Counter()

    def add(self, result):
        cycles, counts, report = result
        self.cases += 1
        self.cycles += cycles
        self.counts += counts
        if report:
            self.violations += 1
            print(report, flush=True)
        if time.monotonic() - self.told > 60:
            self.told = time.monotonic()
            print(f"{self.name}: {self.cases} cases, {self.cycles} cycles, "
                  f"{self.violations} violations after {self.told - self.began:.0f} s", flush=True)


def numbers_of(worker, jobs, repeat):
    if "ONLY" in os.environ:
        return [int(os.environ["ONLY"])] * repeat if worker == 0 else []
    return range(worker, sys.maxsize, jobs)


def main(name, play, make_world=None):
    """play(case, world) raises Violation; make_world() makes what its cases share."""
    seed = number_from("TORTURE_SEED", random.SystemRandom().randrange(1 << 32))
    seconds, cycles = number_from("TORTURE_SECONDS", 10), number_from("CYCLES", 0)
    jobs, repeat = number_from("JOBS", 1), number_from("REPEAT", 1)
    print(f"{name}: seed {seed}", flush=True)
    prepare_environment()
    tally, results = Tally(name), multiprocessing.Queue()
    done, stop = multiprocessing.Value("l", 0), multiprocessing.Value("b", 0)

    def until():
        if stop.value:
            return True
        if "ONLY" in os.environ:
            return False
        return done.value >= cycles if cycles else time.monotonic() - tally.began >= seconds

    workers = [multiprocessing.Process(target=work, args=(
        name, play, make_world, seed, numbers_of(worker, jobs, repeat), until, done, stop, results))
        for worker in range(jobs)]
    for worker in workers:
        worker.start()
    while workers:
        try:
            result = results.get(timeout=1)
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers):
                tally.violations += 1
                print(f"{name}: a worker died", flush=True)
                break
            continue
        if result is None:
            jobs -= 1
            if jobs == 0:
                break
            continue
        tally.add(result)
    for what, count in sorted(tally.counts.items()):
        print(f"{name}: {count} {what}")
    print(f"{name}: {tally.cases} cases, seed {seed}, "
          f"{time.monotonic() - tally.began:.0f} s")
    print(f"{name}: {tally.cycles} cycles, {tally.violations} violations")
    sys.exit(1 if tally.violations else 0)
