#!/usr/bin/python3
"""Resumes a workflow from every line of its transcript: as if everything had died right
after that line was written, or in the middle of the next.

usage: crash_prefix.py [--seed S] [--only LINE] [--every N]
"""
import os
import shutil

from crash import Failure, Round, check, measure, parser_of, tell, with_world


class Prefix(Round):
    """A round that begins with some lines of another's transcript."""

    def __init__(self, whole, options, lines, torn):
        super().__init__(whole.world, whole.server, options, f"{lines}{'-torn' if torn else ''}")
        self.whole, self.torn = whole.record(), torn
        self.source, self.jobs, self.run = whole.source, whole.jobs, whole.run
        self.bodies = whole.bodies
        self.all_requests = set(whole.bodies)
        self.lines = self.whole.lines[:lines]
        self.beside = whole.storage

    def lay_out(self):
        self.world.clear_ledgers()
        for name in ("transcripts", "runs"):
            os.makedirs(os.path.join(self.storage, name), 0o700)
        # Blobs are there before the lines that name them.
        for name in ("blobs", "inputs"):
            shutil.copytree(os.path.join(self.beside, name), os.path.join(self.storage, name))
            os.chmod(os.path.join(self.storage, name), 0o700)
        more = self.whole.lines[len(self.lines):]
        with open(self.transcript(), "wb") as file:
            file.write(b"".join(self.lines))
            if self.torn and more:
                file.write(more[0][:self.random.randint(1, len(more[0]) - 1)])
        os.chmod(self.transcript(), 0o600)

    def check_requests(self):
        self.sent = self.server.requests()
        if self.err_asks:
            return
        sent = [key for key, _ in self.sent]
        left = self.all_requests - self.answered
        check(sorted(sent) == sorted(left), f"sent {sorted(sent)} instead of {sorted(left)}")

    def check_effects(self, record, everything, unresolved):
        """Each one that had not ended happens once, unless it was skipped."""
        happened = self.world.happened()
        done = {self.effect_of(key) for key in record.ended()}
        for call, whats in unresolved.items():
            if call in self.skipped:
                done |= {self.effect_of(call if what == call else (call, what)) for what in whats}
        for effect in everything:
            want = 0 if effect in done or effect[:2] in done else 1
            have = happened.get(effect, 0)
            if effect[1] == "join:0:0":  # its input tells of what was skipped
                have = self.times(effect[1], happened)
            check(have == want or effect[1] in record.harmless(),
                  f"{effect} happened {have} times instead of {want}")

    def play(self, everything):
        self.lay_out()
        self.server.requests()
        record = before = self.record()
        self.answered = {(self.world.items[index], turn) for index, turn in record.answered}
        answers, done = [], False
        self.err_asks = bool(record.unresolved())
        while not done:
            done, before, answers = self.step(before, answers, None)
            check(done or answers, "neither done nor a question")
            self.err_asks = False
        self.check_effects(record, everything, record.unresolved())
        self.check_end(self.record())

    def check_nothing_lost(self, record):
        """The ledgers do not tell of what happened before."""


def play_lines(options, world, server):
    whole = measure(world, server, options)
    everything, failures = set(world.happened()), 0
    count = len(whole.record().lines)
    numbers = [options.only] if options.only else range(1, count, options.every)
    for number, torn in [(number, torn) for number in numbers for torn in (False, True)]:
        this = Prefix(whole, options, number, torn)
        shutil.rmtree(this.base, ignore_errors=True)
        try:
            this.play(everything)
            shutil.rmtree(this.base)
        except (Failure, AssertionError) as failure:
            failures += 1
            this.note(this.lines[-1].decode()[:400])
            tell(f"after line {this.number}", options, failure, this)
            if failures >= options.failures:
                break
    print(f"{len(numbers)} of {count} lines, seed {options.seed}, {failures} failures")
    return failures


def main():
    parser = parser_of("Resumes a workflow from every line of its record.")
    parser.add_argument("--every", type=int, default=1, help="only every so many lines")
    parser.set_defaults(kill="everything", effect_ms=1, slow_ms=1)
    with_world(parser.parse_args(), play_lines)


if __name__ == "__main__":
    main()
