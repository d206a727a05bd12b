#!/usr/bin/env python3
"""Runs what a document tells its readers to type, and compares what is printed with what the document shows.

usage: recipes.py FILE [--write] [--list] [TITLE...]

In the Markdown FILE a block ```sh is typed, and the block ```text after it, if there is one, is what is printed on
standard output and standard error; without one nothing may be printed. A block with a second word, such as ```sh key,
is not run, only read by the shell: it needs what a test does not have. Blocks below a heading ### are a recipe, typed into
one shell in an empty directory with an empty home, after all blocks before the first such heading. Without such
headings all blocks are one recipe. With TITLEs, only those. A directory for each is made in the current one.

A block has to end with 0, unless a program of AWF says in what is shown that something failed or waits.

What differs from time to time is compared by the patterns below, where the document shows something of that form: all
else has to be the same, byte for byte. The directory of a recipe is shown as /home/ann/try, its home as /home/ann. A comment <!-- varies: TEXT PATTERN --> before a block says so of one TEXT. A line
with nothing but "…" stands for any lines.

--write puts what is printed into FILE; --list prints the titles.
"""
import os
import re
import signal
import subprocess
import sys

VARYING = [
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"\b[0-9a-f]{64}\b",
    r"\b20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(?:\.\d+)?Z",
    r"\b20\d\d-[01]\d-[0-3]\d [0-2]\d:[0-5]\d:[0-5]\d\b",
    r"\b20\d\d-[01]\d-[0-3]\d\b",
    # The id of a run, in short: hexadecimal digits, one of them a letter, or behind a word that announces it.
    r"\b(?=[0-9]*[a-f])[0-9a-f]{8}\b",
    r"(?<=--resume )[0-9a-f]{8}\b",
    r"\b\d+(?:\.\d+)?m?s\b",
    r"^ *\d+\.\d{3}(?= )",
    r"(?<=\"ms\":)\d+",
    # Whose terminal it is.
    r"(?<=: )\w+(?= decides, or who may)",
]
ANY = "|".join(f"(?P<p{i}>{pattern})" for i, pattern in enumerate(VARYING))
# A time of another length moves what stands before it in a column; an id may have no letter.
WRITTEN = {5: "[0-9a-f]{8}", 7: r"\d+(?:\.\d+)?m?s", 8: r" *\d+\.\d{3}", 9: r"\d+"}


class Block:
    def __init__(self, kind, text, first, end, varies):
        self.kind, self.text, self.first, self.end, self.varies = kind, text, first, end, varies


def read(path):
    """The recipes of a document: [(title, [Block])], that without a title before all others."""
    lines = open(path, encoding="utf-8").read().split("\n")
    recipes = [("", [])]
    varies = {}
    i = 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("```"):
            end = lines.index("```", i + 1)
            recipes[-1][1].append(Block(line[3:], "\n".join(lines[i + 1:end]), i + 1, end, varies))
            varies = {}
            i = end
        elif line.startswith("### "):
            recipes.append((line[4:], []))
        elif match := re.fullmatch(r"<!-- varies: (\S+) (\S+) -->", line):
            varies = {**varies, match.group(1): match.group(2)}
        i += 1
    return recipes


def pattern_of(line, varies):
    """A regular expression of what may be printed where LINE is shown."""
    made, end = "", 0
    own = "|".join(re.escape(text) for text in varies)
    for match in re.finditer(f"(?P<own>{own})|{ANY}" if own else ANY, line):
        before = re.escape(line[end:match.start()])
        if varies and match.group("own"):
            made += before + varies[match.group("own")]
        else:
            number = int(match.lastgroup[1:])
            if number == 7:
                before = re.sub(r"(?:\\ ){2,}$", " +", before)
            made += before + WRITTEN.get(number, VARYING[number])
        end = match.end()
    return made + re.escape(line[end:])


def fits(shown, printed, varies):
    if shown == []:
        return printed == []
    if shown[0] == "…":
        return any(fits(shown[1:], printed[n:], varies) for n in range(len(printed) + 1))
    return printed != [] and re.fullmatch(pattern_of(shown[0], varies), printed[0]) is not None and \
        fits(shown[1:], printed[1:], varies)


def typed(blocks, place):
    """What each of the blocks prints, and how it ends: [(text, status)]."""
    script = "".join(f"{block.text}\nprintf '\\n\\036%s\\036\\n' \"$?\"\n" for block in blocks)
    os.makedirs(place + "/home")
    os.makedirs(place + "/work")
    with open(place + "/script", "w", encoding="utf-8") as file:
        file.write(script)
    # Readers do not have the programs of tests.
    path = ":".join(folder for folder in os.environ["PATH"].split(":") if "/tests/" not in folder + "/")
    kept = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    shell = subprocess.Popen(
        ["sh", "../script"], cwd=place + "/work", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**kept, "PATH": path, "HOME": place + "/home", "TERM": "dumb", "LC_ALL": "C.UTF-8", "TZ": "UTC", "AWF_SYNC": "none",
             "GIT_CONFIG_NOSYSTEM": "1", "no_proxy": "127.0.0.1"})
    try:
        said = shell.communicate(timeout=120)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        said = shell.communicate()[0].decode("utf-8", "replace") + "\n(it takes longer than two minutes)"
    said = said.replace(place + "/work", "/home/ann/try").replace(place + "/home", "/home/ann")
    parts = re.split("\n\x1e(\\d+)\x1e\n", said)
    pairs = list(zip(parts[0::2], (int(status) for status in parts[1::2])))
    return pairs + [(parts[-1], None)] * (len(blocks) - len(pairs))


def check(title, blocks, results, path, written):
    """Prints what is not as it is shown; the number of such blocks."""
    faults = 0
    for n, (block, (printed, status)) in enumerate(zip(blocks, results)):
        text = printed.removesuffix("\n")
        follower = written.get(id(block))
        shown = follower.text if follower else ""
        where = f"{path}:{block.first + 1}: {title or 'the document'}"
        if status is None:
            print(f"{where}: the shell ended here:\n{block.text}\n--- it said:\n{text}")
            return faults + 1
        if follower is not None:
            follower.printed = text
        failed = re.search(r"^awf[a-z-]*: ", text, re.M) is not None and follower is not None
        if status != 0 and not failed:
            print(f"{where}: ended with {status}:\n{block.text}\n--- it said:\n{text}")
            faults += 1
        elif not fits(shown.split("\n") if shown else [], text.split("\n") if text else [], follower.varies if follower else {}):
            print(f"{where}:\n{block.text}\n--- shown:\n{shown}\n--- printed:\n{text}")
            faults += 1
    return faults


def main():
    arguments = sys.argv[1:]
    write, listed = "--write" in arguments, "--list" in arguments
    path, *titles = [word for word in arguments if not word.startswith("--")]
    recipes = read(path)
    if listed:
        print("\n".join(title for title, _ in recipes if title))
        return
    unknown = set(titles) - {title for title, _ in recipes}
    if unknown:
        sys.exit(f"{path} has no recipe: {', '.join(sorted(unknown))}")
    faults = count = 0
    replaced = []
    for number, (title, blocks) in enumerate(recipes):
        if len(recipes) > 1 and not title or titles and title not in titles:
            continue
        everything = (recipes[0][1] if title else []) + blocks
        for block in everything:
            if block.kind.split()[:1] == ["sh"] and block.kind != "sh":
                read_only = subprocess.run(["sh", "-n"], input=block.text, capture_output=True, text=True, check=False)
                if read_only.returncode != 0:
                    print(f"{path}:{block.first}: the shell cannot read this: {read_only.stderr}")
                    faults += 1
        run = [block for block in everything if block.kind == "sh"]
        if title and not any(block.kind == "sh" for block in blocks):
            print(f"{path}: nothing is typed in: {title}")
            faults += 1
        follower = {id(block): everything[i + 1] for i, block in enumerate(everything[:-1])
                    if block.kind == "sh" and everything[i + 1].kind == "text"}
        place = f"{os.getcwd()}/{number}"
        faults += check(title, run, typed(run, place), path, follower)
        replaced += [block for block in follower.values() if hasattr(block, "printed")]
        count += 1
    if write:
        lines = open(path, encoding="utf-8").read().split("\n")
        for block in sorted({id(b): b for b in replaced}.values(), key=lambda b: -b.first):
            if not fits(block.text.split("\n") if block.text else [], block.printed.split("\n"), block.varies):
                lines[block.first:block.end] = block.printed.split("\n")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    print(f"{count} tried, {faults} faults")
    sys.exit(faults > 0)


main()
