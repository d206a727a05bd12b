#!/usr/bin/env python3
"""Faults of the examples in the manual: each is a line of shell that bash can read, and has no
option that the program does not have. What groff and mandoc show of them is for tests/lint."""
import glob
import re
import subprocess
import sys

SHOWN = (("\\e", "\\"), ("\\&", ""), ("\\(aq", "'"), ("\\(dq", '"'))
# Makefiles, tables of cron, JSON, SQL and agent files are no shell.
OTHER = re.compile(r"\s*[{\[]\s*\"|---|SELECT |[\d*/]+ [\d*]+ \* \* \*|.*^\S+: \S.*\n\t", re.S | re.M)
PROGRAM = re.compile(r"(?<![\w/.-])(?:\S*/)?(awf-[a-z-]+|awf)(?= |$)", re.M)


def displays(page):
    section, block = "", None
    for line in open(page):
        if line.startswith(".Sh "):
            section = line[4:].strip()
        elif line.startswith(".Dl ") and section in ("EXAMPLES", "IDIOMS"):
            yield line[4:]
        elif line.startswith(".Bd -literal") and section in ("EXAMPLES", "IDIOMS"):
            block = ""
        elif line.startswith(".Ed") and block is not None:
            yield block
            block = None
        elif block is not None:
            block += line


def shell(text):
    for code, character in SHOWN:
        text = text.replace(code, character)
    # Behind a prompt stands what is typed; the rest is what comes of it.
    if re.search(r"^\$ ", text, re.M):
        return "".join(line[2:] + "\n" for line in text.splitlines() if re.match(r"[$>] ", line))
    return text


def options(program, known={}):
    if program not in known:
        told = subprocess.run([program, "--help=all"], capture_output=True, text=True, check=False)
        known[program] = set(re.findall(r"^ +(?:(?:-., )?(--[a-z-]+))", told.stdout, re.M))
    return known[program]


def faults(text):
    read = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    if read.returncode != 0:
        yield read.stderr.strip()
    joined = text.replace("\\\n", " ")
    # A list that another program reads: of the newest 20 runs, in columns for people.
    for listing in re.findall(r"awf-(?:tail --list|ctl list)[^|\n]*\|", joined):
        if not re.search(r" -n \d", listing) or "--json" not in listing:
            yield "a list for a program says -n N and --json: " + listing
    for match in PROGRAM.finditer(joined):
        program = match.group(1)
        # Its own options stand before what it runs: a pipe, a quote that ends, or dashes.
        rest = re.split(r"[|;&\n]| -- |'$", joined[match.end():], maxsplit=1)[0]
        rest = re.sub(r"'[^']*'|\"[^\"]*\"", "x", rest)
        if program in ("awf", "awf-replay", "awf-verify") and "--from" in rest:
            rest = rest[:rest.index("--from")]
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", rest):
            # Of a command its own.
            if options(program) and option not in options(program) | options("awf-tail" if
                    program == "awf-ctl" else program):
                yield f"{program} has no {option}"


def main():
    count = failed = 0
    for page in sorted(glob.glob(sys.argv[1] + "/*.[157]")):
        for display in displays(page):
            text = shell(display)
            if OTHER.match(text):
                continue
            count += 1
            for fault in faults(text):
                print(f"{page}: {fault}\n{text}", file=sys.stderr)
                failed += 1
    print(count)
    sys.exit(failed > 0)


main()
