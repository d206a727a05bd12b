"""The rooms of the code, as rooms.mk has them: python3 tests/support/rooms.py BUILD, after make all.

A room includes headers, and needs symbols, of itself and of the rooms that it needs, of each of
which it does include some. There is no way back. What only the programs of one room link lies with
them: the linker says who links what. Files that need each other are one thing, and few. Of the core
and of agents add-ons include public headers alone. A line for each fault.

With names of programs behind BUILD, what each links: lines of .c files, in all and by room."""
import collections
import os
import re
import subprocess
import sys
import tempfile

# What stays in lib/ though one room alone links it, and why.
ALONE = {
    **{"lib/%s/" % name: "the engine of awf-step"
       for name in "providers formats definitions mcp_client turn".split()},
    "lib/isolate/": "one kit, of which awf-sandbox alone needs some parts",
    "lib/net/": "all of HTTP, so that nobody else links libcurl",
    "lib/shared/": "what other programs link, awf-transcript(3)",
    "lib/view/progress": "awf-run shows what goes on too",
    "lib/api/key_command": "how a server is told who asks, without a program of its own",
    "lib/api/sigv4": "likewise",
}

# Preloaded into programs, in place of the functions of the C library: nothing links it.
APART = ("cmd/clock/",)

# Lines of .c files that programs link at most which do little: a library that pulls others in is seen
# here first.
LINKED_MOST = {"awf": 3500, "awf-verify": 20000}

# .c files of a room.
ROOM_MOST = 24

# Structs with so many members, and how many of them there may be.
STRUCT_LARGE = 30
STRUCTS_LARGE_MOST = 4

# Circles of files that need each other by their nature: a file of each, and why.
CIRCLES = {
    r"cmd/step/stream\.c": "items joined are a stream of one, with the same ends",
    r"cmd/provider/cli\.c": "a CLI's request, its process and its lines end in one answer",
}

faults = []


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


# Stands for a room that cmd/program.h is, which all programs include.
PROGRAM_H = "program.h"


class Table:
    """What make has read in rooms.mk."""
    needs = {PROGRAM_H: ["base", "proc"]}  # of each room, the rooms that it needs
    tier = {PROGRAM_H: "CORE"}             # of each room
    across = set()                         # "ROOM:OTHER": needed in spite of its tier
    public = set()                         # "ROOM/" or "ROOM/HEADER"
    room_of = {"awf-transcript.o": "shared"}  # of each program


def read_table():
    for line in output("make", "--no-print-directory", "-s", "rooms").splitlines():
        kind, *words = line.split()
        if kind == "tier":
            for name in words[1:]:
                if name in Table.tier:
                    faults.append("rooms.mk: %s is in two tiers" % name)
                Table.tier[name] = words[0]
        elif kind == "across":
            Table.across.update(words)
        elif kind == "public":
            Table.public.update(words)
        elif kind == "room":
            Table.needs[words[0]] = words[1:] + [PROGRAM_H] * os.path.isdir("cmd/" + words[0])
        elif kind == "program":
            Table.room_of[os.path.basename(words[0])] = words[1]


# Which tiers a room of each may need.
TIERS = {"CORE": {"CORE"}, "AGENTS": {"CORE", "AGENTS"}, "ADD_ONS": {"CORE", "AGENTS", "ADD_ONS"}}


def room(path):
    return path.split("/")[1]


def reached(name):
    """What a room needs, directly or not."""
    found, ahead = set(), [name]
    while ahead:
        for other in set(Table.needs.get(ahead.pop(), ())) - found:
            found.add(other)
            ahead.append(other)
    return found


def may_include(user, used):
    return used == user or used in Table.needs.get(user, ())


def may_use(user, used):
    """Of what it includes headers of, and of what those include in turn."""
    return used == user or used in reached(user)


def from_outside(user, used):
    """An add-on uses what is none."""
    return Table.tier.get(user) == "ADD_ONS" != Table.tier.get(used) and used != PROGRAM_H


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
    used, unused = collections.defaultdict(set), set(Table.public)
    for path in files:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                found = re.match(r'\s*#\s*include\s+(?:"([^"]+)"|<(curl)/)', line)
                if not found:
                    continue
                if found.group(2) and not path.startswith(("lib/net/", "cmd/provider/")):
                    faults.append("%s:%d: includes libcurl" % (path, number))
                target = found.group(1) and meant(path, found.group(1), headers)
                if target:
                    used[room(path)].add(room(target))
                if target and not may_include(room(path), room(target)):
                    faults.append("%s:%d: includes %s" % (path, number, target))
                elif target and from_outside(room(path), room(target)):
                    public = {room(target) + "/", target[4:-2]} & Table.public
                    if not public:
                        faults.append("%s:%d: includes %s, which is not public" % (path, number, target))
                    unused -= public
    for name in sorted(Table.needs):
        for other in Table.needs[name]:
            if other not in used[name] and other != PROGRAM_H:
                faults.append("rooms.mk: %s does not need %s" % (name, other))
    for name in sorted(unused):
        faults.append("rooms.mk: %s is public, and no add-on includes it" % name)


def members(text):
    """The names of the structs in the text of a file, with the number of members that each has."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for found in re.finditer(r"\bstruct\s+(\w+)\s*\{", text):
        depth, at, count, declaration = 1, found.end(), 0, ""
        while depth > 0 and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 1 and text[at] == ";":
                # Parameters of functions, and sizes, may have commas.
                while re.search(r"\([^()]*\)", declaration):
                    declaration = re.sub(r"\([^()]*\)", "", declaration)
                count += 1 + declaration.count(",")
                declaration = ""
            elif depth == 1 and text[at] != "}":
                declaration += text[at]
            at += 1
        yield found.group(1), count


def check_structs(files):
    large = []
    for path in files:
        with open(path, encoding="utf-8") as text:
            large += ["%s (%s, %d)" % (name, path, count) for name, count in members(text.read())
                      if count >= STRUCT_LARGE]
    if len(large) > STRUCTS_LARGE_MOST:
        faults.append("structs of %d members or more: %d, more than %d: %s" % (STRUCT_LARGE, len(large),
                      STRUCTS_LARGE_MOST, ", ".join(sorted(large))))


def check_rooms(files):
    """Each room is in the table, has a name of its own, and comes back to itself by no way."""
    folders = collections.defaultdict(set)
    for path in files:
        folders[room(path)].add(os.path.dirname(path))
    del folders[PROGRAM_H]
    across = set(Table.across)
    for name, directories in sorted(folders.items()):
        if len(directories) > 1:
            faults.append("%s: one name for %s" % (name, " and ".join(sorted(directories))))
        if name not in Table.needs:
            faults.append("%s: is not in rooms.mk" % directories.pop())
        size = sum(room(path) == name and path.endswith(".c") for path in files)
        if size > ROOM_MOST:
            faults.append("%s: %d .c files, more than %d" % (name, size, ROOM_MOST))
    for name in sorted(Table.needs):
        if name in reached(name):
            faults.append("rooms.mk: %s needs itself, by way of others" % name)
        for other in sorted(set(Table.needs[name]) - set(Table.needs)):
            faults.append("rooms.mk: %s needs %s, which is no room" % (name, other))
        wrong = {"%s:%s" % (name, other) for other in Table.needs[name]
                 if Table.tier.get(other) not in TIERS[Table.tier[name]]}
        for pair in sorted(wrong - Table.across):
            faults.append("rooms.mk: %s is in the tier %s, and needs %s"
                          % (name, Table.tier[name], pair.split(":")[1]))
        across -= wrong
        if name not in folders and name != PROGRAM_H:
            faults.append("rooms.mk: %s: no such room" % name)
    for pair in sorted(across):
        faults.append("rooms.mk: %s: an exception that is not needed" % pair)


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
            if words[1:2] == ["rcsD"]:
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


def linked_lines(stems):
    """The lines of .c files, by room."""
    lines = collections.Counter()
    for path in (stem + ".c" for stem in stems):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as text:
                lines[room(path)] += sum(1 for _ in text)
    return lines


def print_links(build, programs):
    """How many lines of .c files these programs link, and of which rooms."""
    linked = links(build)
    for program in programs:
        lines = linked_lines(linked[program])
        print(program, sum(lines.values()),
              " ".join("%s:%d" % pair for pair in lines.most_common()))


def check_links(sources, needs, defined, build):
    """What the programs of one room alone link, and no other room of lib/ needs, lies with them; and
    small programs stay small."""
    linked = links(build)
    for program, most in LINKED_MOST.items():
        lines = linked_lines(linked[program])
        if sum(lines.values()) > most:
            faults.append("%s: links %d lines, more than %d: %s" % (program, sum(lines.values()), most,
                          " ".join("%s:%d" % pair for pair in lines.most_common())))
    shared = {other for path in sources if path.startswith("lib/")
              for name in needs[path] for other in defined.get(name, ()) if room(other) != room(path)}
    rooms = collections.defaultdict(set)
    for program, stems in linked.items():
        for stem in stems:
            rooms[stem].add(Table.room_of[program])
    for path in sources:
        stem = path[:-2]
        if path.startswith("cmd/") or os.path.dirname(path) + "/" in ALONE:
            continue
        if not rooms[stem]:
            faults.append("%s: no program links it" % path)
        elif len(rooms[stem]) == 1 and path not in shared and stem not in ALONE:
            faults.append("%s: belongs into cmd/%s, which alone links it" % (path, *rooms[stem]))
        elif (len(rooms[stem]) > 1 or path in shared) and stem in ALONE:
            faults.append("%s: is no exception any more" % path)
    for stem in ALONE:
        if not stem.endswith("/") and not os.path.exists(stem + ".c"):
            faults.append("%s: an exception that is not there" % stem)


def main():
    build = os.path.relpath(sys.argv[1])
    if sys.argv[2:]:
        print_links(build, sys.argv[2:])
        return 0
    files = sorted(os.path.join(directory, name) for top in ("lib", "cmd")
                   for directory, _, names in os.walk(top) for name in names
                   if name.endswith((".c", ".h")))
    sources = [path for path in files if path.endswith(".c") and not path.startswith(APART)]
    read_table()
    check_rooms(files)
    check_structs(files)
    check_includes(files)
    needs, defined = symbols(sources, build)
    check_symbols(sources, needs, defined)
    check_circles(sources, needs, defined)
    check_links(sources, needs, defined, build)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
