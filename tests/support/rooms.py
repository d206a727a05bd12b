"""The rooms of the code: python3 tests/support/rooms.py BUILD, after make all.

A room of lib/ includes, and needs symbols of, itself and the rooms below it; a program's room
those of lib/ and itself. What only the programs of one room link lies with them: the linker
says who links what. Files that need each other are one thing, and few. A line for each
fault."""
import collections
import os
import re
import subprocess
import sys
import tempfile

# What each part of AWF is made of: the core, of which a run consists, and agents, which are built on it.
LOW = "base json schema transcript proc"
CORE = " storage workspace model history start decide view"
AGENTS = " providers formats definitions mcp_client turn"
# Which rooms of lib/ each may use.
BELOW = {
    "base": "",
    "json": "base",
    "schema": "base json",
    "transcript": "base json",
    "proc": "base json",
    "isolate": "base proc",
    "storage": LOW,
    "workspace": LOW + " storage",
    "model": LOW + " storage",
    "history": LOW + " storage model",
    "start": LOW + " storage model",
    "decide": LOW + " storage workspace model history start",
    "view": LOW + " storage model decide",
    "ingest": LOW + CORE,
    "providers": LOW + CORE,
    "formats": LOW + CORE + " providers",
    "definitions": LOW + CORE + " isolate providers formats",
    "mcp_client": LOW + CORE + " isolate providers formats definitions",
    "turn": LOW + CORE + " isolate providers formats definitions mcp_client",
    "net": "base json",
    "httpd": "base json net",
    "api": LOW + CORE + AGENTS + " net",
    "projection": LOW + CORE + AGENTS,
    "shared": LOW + CORE,
}
# Programs that lie in another's room; the others, awf-NAME and awf-NAME-…, in cmd/NAME.
ROOM = {"awf": "awf", "awf-mcp": "gates", "awf-replay": "inspect", "awf-tail": "inspect", "awf-verify": "inspect", "awf-mirror-postgresql": "mirror", "awf-mirror-sqlite": "mirror",
        "awf-transcript.o": "shared"}
# What uses another program's room, too, and why.
BESIDE = {
    ("cmd", "mirror"): (("cmd", "ship"), "both ways to a database connect to it alike"),
}
# What stays in lib/ though one room alone links it, and why.
ALONE = {
    **{"lib/%s/" % name: "the engine of awf-step" for name in AGENTS.split()},
    "lib/isolate/": "one kit, of which awf-sandbox alone needs some parts",
    "lib/net/": "all of HTTP, so that nobody else links libcurl",
    "lib/shared/": "what other programs link, awf-transcript(3)",
    "lib/view/progress": "awf-run shows what goes on too",
}

# Preloaded into programs, in place of the functions of the C library: nothing links it.
APART = ("cmd/clock/",)

# Circles of files that need each other by their nature: a file of each, and why.
CIRCLES = {
    r"cmd/step/stream\.c": "items joined are a stream of one, with the same ends",
    r"cmd/provider/cli\.c": "a CLI's request, its process and its lines end in one answer",
}

faults = []


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def room_of_program(name):
    return ROOM.get(name) or name.split("-")[1]


def room(path):
    """("lib", ROOM) or ("cmd", ROOM); of what all programs include ("cmd", "")."""
    parts = path.split("/")
    if len(parts) > 2:
        return parts[0], parts[1]
    name = os.path.splitext(parts[1])[0]
    return parts[0], "" if name == "program" else room_of_program(name)


def may_use(user, used):
    if used in (user, ("cmd", ""), BESIDE.get(user, [None])[0]):
        return True
    if used[0] == "cmd":
        return False
    return user[0] == "cmd" or used[1] in BELOW.get(user[1], "").split()


def meant(path, name, headers):
    """The header that an include of name in a file means."""
    for directory in (os.path.dirname(path), "lib", "cmd"):
        target = os.path.normpath(os.path.join(directory, name))
        if target in headers:
            return target
    return None


def check_includes(files):
    headers = {path for path in files if path.endswith(".h")}
    for name in sorted(path[4:] for path in headers if path.startswith("lib/")):
        if "cmd/" + name in headers:
            faults.append('"%s" may be of lib or of cmd' % name)
    for path in files:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                found = re.match(r'\s*#\s*include\s+(?:"([^"]+)"|<(curl)/)', line)
                if not found:
                    continue
                if found.group(2) and not path.startswith(("lib/net/", "cmd/provider/")):
                    faults.append("%s:%d: includes libcurl" % (path, number))
                target = found.group(1) and meant(path, found.group(1), headers)
                if target and not may_use(room(path), room(target)):
                    faults.append("%s:%d: includes %s" % (path, number, target))


def symbols(sources, build):
    """What the object of each source needs; who defines what."""
    needs, defined = collections.defaultdict(set), collections.defaultdict(set)
    of_object = {"%s/obj/%s.o" % (build, path[:-2]): path for path in sources}
    for line in output("nm", "-A", "-P", *of_object).splitlines():
        where, symbol = line.split(": ", 1)
        name, kind = symbol.split()[:2]
        if kind in "Uvw":
            needs[of_object[where]].add(name)
        elif kind.isupper():
            defined[name].add(of_object[where])
    return needs, defined


def check_symbols(sources, needs, defined):
    """What an object needs that others alone define whose rooms it may not use. (Programs
    may each define the same name.)"""
    for path in sources:
        for name in sorted(needs[path] & set(defined)):
            if not any(may_use(room(path), room(other)) for other in defined[name]):
                faults.append("%s: needs %s of %s" % (path, name, " ".join(sorted(defined[name]))))


def check_circles(sources, needs, defined):
    """Files that need each other, directly or through others, and are no exception."""
    used = {path: {other for name in needs[path] for other in defined.get(name, ())
                   if other != path and may_use(room(path), room(other))} for path in sources}
    reached = {}
    for path in sources:
        reached[path], ahead = set(), [path]
        while ahead:
            for other in used[ahead.pop()] - reached[path]:
                reached[path].add(other)
                ahead.append(other)
    circles = {tuple(sorted(other for other in reached[path] if path in reached[other]))
               for path in sources if path in reached[path]}
    for circle in sorted(circles):
        if not any(re.fullmatch(pattern, path) for pattern in CIRCLES for path in circle):
            faults.append("need each other: %s" % " ".join(circle))
    for pattern in CIRCLES:
        if not any(re.fullmatch(pattern, path) for circle in circles for path in circle):
            faults.append("%s: a circle that is not there" % pattern)


def links(build):
    """The sources, without .c, that each program links. It is linked once more, from archives
    whose members have paths, for the linker's map."""
    commands = output("make", "--no-print-directory", "-n", "-B", "BUILD=" + build, "all").splitlines()
    linked, thin = {}, {}
    with tempfile.TemporaryDirectory() as directory:
        listing = os.path.join(directory, "map")
        for command in commands:
            words = command.split()
            if words[1:2] == ["rcs"]:
                thin[words[2]] = os.path.join(directory, os.path.basename(words[2]))
                output(words[0], "rcsT", thin[words[2]], *map(os.path.abspath, words[3:]))
        for command in commands:
            # What is left out where a library is missing has a question before it.
            words = [thin.get(word, word) for word in command.rsplit("; ", 1)[-1].split()]
            at = words.index("-o") + 1 if "-o" in words else 0
            if not at or not re.search(r"/(bin|libexec/awf)/[^/]+(?<!\.so)$|/awf-transcript\.o", words[at]):
                continue
            name = os.path.basename(words[at]).replace(".tmp", "")
            words[at] = os.path.join(directory, "program")
            output(*words, "-Wl,-Map=" + listing)
            with open(listing, encoding="utf-8") as text:
                linked[name] = set(re.findall(r"/obj/((?:lib|cmd)/[^\s()]+)\.o\b", text.read()))
    return linked


def check_links(sources, build):
    rooms = collections.defaultdict(set)
    for program, stems in links(build).items():
        for stem in stems:
            rooms[stem].add(room_of_program(program))
    for path in sources:
        stem = path[:-2]
        if path.startswith("cmd/") or os.path.dirname(path) + "/" in ALONE:
            continue
        if not rooms[stem]:
            faults.append("%s: no program links it" % path)
        elif len(rooms[stem]) == 1 and stem not in ALONE:
            faults.append("%s: belongs into cmd/%s, which alone links it" % (path, *rooms[stem]))
        elif len(rooms[stem]) > 1 and stem in ALONE:
            faults.append("%s: is no exception any more" % path)
    for stem in ALONE:
        if not stem.endswith("/") and not os.path.exists(stem + ".c"):
            faults.append("%s: an exception that is not there" % stem)


def main():
    build = os.path.relpath(sys.argv[1])
    files = sorted(os.path.join(directory, name) for top in ("lib", "cmd")
                   for directory, _, names in os.walk(top) for name in names
                   if name.endswith((".c", ".h")))
    sources = [path for path in files if path.endswith(".c") and not path.startswith(APART)]
    for path in files:
        if room(path)[0] == "lib" and room(path)[1] not in BELOW:
            faults.append("%s: lies in no room" % path)
    check_includes(files)
    needs, defined = symbols(sources, build)
    check_symbols(sources, needs, defined)
    check_circles(sources, needs, defined)
    check_links(sources, build)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
