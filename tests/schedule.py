"""Runs test files side by side, those first that took longest the last time.

usage: TIMES=FILE schedule.py JOBS FILE...
TEST_TAG=WORD: the tests with that tag alone. TEST_SEED=N, TEST_SECONDS=N: in an order by
chance, and none is begun later than that.

A line for each file as it ends: how long it took, how much of that on a processor, how many
tests it has. At the end: all that the failed ones said, the slowest ten, and the sum. A file
fails by a test, by its exit status, or by a plan that its tests do not keep."""
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

# Seconds, for a file.
LIMIT = 1200 if os.environ.get("AWF_TEST_TIER") == "torture" else 600
# Tests that a tier does not run.
LEFT_OUT = {"check": ["!torture", "!ci"], "ci": ["!torture"]}
RESULT = re.compile(r"(not )?ok\b")
SKIPPED = re.compile(r"#\s*skip\b", re.I)
# cmocka prints a test that is skipped as one that failed.
CMOCKA_SKIP = re.compile(r"^not (ok \d+) # SKIP\b")


def command(path):
    if not path.endswith(".bats"):
        return [os.path.abspath(path)]
    tags = LEFT_OUT.get(os.environ.get("AWF_TEST_TIER"), [])
    if "TEST_TAG" in os.environ:
        tags = [os.environ["TEST_TAG"]]
    return ["bash", "tests/support/bats.bash", path, *tags]


class File:
    def __init__(self, path):
        self.path = path
        self.out = tempfile.TemporaryFile("w+b")
        self.began = time.monotonic()
        self.late = False
        self.process = subprocess.Popen(
            command(path), stdin=subprocess.DEVNULL, stdout=self.out,
            stderr=self.out if path.endswith(".bats") else subprocess.DEVNULL,
            start_new_session=True)

    def hang(self):
        """Ends a file that does not end, and notes what it had under way."""
        self.late = True
        self.out.write(subprocess.run(
            ["ps", "-s", str(self.process.pid), "-o", "pid,ppid,etimes,stat,wchan:20,args"],
            stdout=subprocess.PIPE, check=False).stdout)
        self.kill()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end(self, status, usage):
        self.process.returncode = status
        self.wall = time.monotonic() - self.began
        self.cpu = usage.ru_utime + usage.ru_stime
        self.out.seek(0)
        self.lines = [CMOCKA_SKIP.sub(r"\1 # SKIP", line) for line in
                      self.out.read().decode("utf-8", "replace").splitlines()]
        self.out.close()
        results = [line for line in self.lines if RESULT.match(line)]
        self.failed = sum(line.startswith("not ") for line in results)
        self.skipped = sum(bool(SKIPPED.search(line)) for line in results)
        self.passed = len(results) - self.failed - self.skipped
        plans = [int(m[1]) for m in (re.match(r"1\.\.(\d+)", line) for line in self.lines) if m]
        self.wrong = ""
        if self.late:
            self.wrong = f"not done after {LIMIT} s"
        elif sum(plans) != len(results) or not plans:
            self.wrong = f"planned {sum(plans)} tests, ran {len(results)}"
        elif status != 0 and self.failed == 0:
            self.wrong = f"ended with {status}"
        if self.wrong:
            self.failed += 1

    def line(self):
        return (f"{self.wall:6.1f} s {self.cpu:6.1f} s cpu {self.passed + self.failed:4d} "
                f"{self.path}{f', {self.skipped} skipped' if self.skipped else ''}"
                f"{f', {self.failed} FAILED' if self.failed else ''}")

    def complaint(self):
        """The tests that failed, with what they said."""
        told, telling = [], self.wrong != ""
        for line in self.lines:
            if RESULT.match(line) and not self.wrong:
                telling = line.startswith("not ")
            if telling:
                told.append("  " + line)
        return "\n".join([f"== {self.path}{': ' + self.wrong if self.wrong else ''}", *told])


def read_times(path):
    try:
        with open(path, encoding="utf-8") as f:
            return {name: float(seconds) for seconds, name in (line.split(" ", 1) for line in
                                                              f.read().splitlines())}
    except (OSError, ValueError):
        return {}


def write_times(path, times):
    with open(path + ".tmp", "w", encoding="utf-8") as f:
        f.writelines(f"{seconds:.1f} {name}\n" for name, seconds in sorted(times.items()))
    os.replace(path + ".tmp", path)


def run(files, jobs, until):
    running, done, waiting = {}, [], list(files)
    try:
        while waiting or running:
            if time.monotonic() > until:
                waiting = []
            while waiting and len(running) < jobs:
                file = File(waiting.pop(0))
                running[file.process.pid] = file
            for file in running.values():
                if not file.late and time.monotonic() - file.began > LIMIT:
                    file.hang()
            ended = [(os.wait4(pid, os.WNOHANG), pid) for pid in running]
            for (pid, status, usage), _ in ended:
                if pid == 0:
                    continue
                file = running.pop(pid)
                file.end(os.waitstatus_to_exitcode(status), usage)
                done.append(file)
                print(file.line(), flush=True)
                if os.environ.get("VERBOSE"):
                    print("\n".join(file.lines), flush=True)
            time.sleep(0.02)
    finally:
        for file in running.values():
            file.kill()
    return done


def main():
    jobs, paths = int(sys.argv[1]), [p for p in sys.argv[2:] if not p.endswith(".d")]
    missing = [p for p in paths if not os.path.isfile(p)]
    if missing:
        sys.exit(f"tests/run: there is no {missing[0]}")
    times = read_times(os.environ["TIMES"])
    name = lambda path: os.path.basename(os.path.dirname(path)) + "/" + os.path.basename(path)

    def takes(path):
        """Seconds: what it took before, and at least what it says; by its length if neither is known."""
        with open(path, "rb") as f:
            says = re.search(rb"^# takes up to (\d+) s$", f.read(4096) if path.endswith(".bats") else b"", re.M)
        guess = os.path.getsize(path) / 1e3 if path.endswith(".bats") else 1
        return max(times.get(name(path), guess), float(says[1]) if says else 0)

    began = time.monotonic()
    paths.sort(key=takes, reverse=True)
    if "TEST_SEED" in os.environ:
        random.Random(os.environ["TEST_SEED"]).shuffle(paths)
    if "TEST_TAG" in os.environ:
        paths = [p for p in paths if re.search(f"^# bats .*{os.environ['TEST_TAG']}",
                                               open(p, "rb").read().decode("utf-8", "replace"), re.M)]
    done = run(paths, jobs, began + float(os.environ.get("TEST_SECONDS", "inf")))
    wall = time.monotonic() - began
    times.update((name(f.path), f.wall) for f in done)
    write_times(os.environ["TIMES"], times)
    for file in done:
        if file.failed:
            print(file.complaint())
    print("== slowest")
    for file in sorted(done, key=lambda f: -f.wall)[:10]:
        print(file.line())
    failed = sum(f.failed for f in done)
    # A test may have accepted the failure.
    log = os.environ.get("AWF_INVARIANT_LOG")
    if log and os.path.exists(log):
        failed += 1
        print("== invariants that did not hold")
        with open(log, encoding="utf-8", errors="replace") as f:
            print(f.read(), end="")
    print(f"{sum(f.passed for f in done)} passed, {failed} failed, "
          f"{sum(f.skipped for f in done)} skipped in {len(done)} of {len(paths)} files; {wall:.0f} s, "
          f"{sum(f.cpu for f in done):.0f} s cpu, {jobs} at a time")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
