"""Random workflows whose calls differ by directory, variables, arguments, input or position,
and random edits of their scripts, and of the programs that their steps run.

A workflow is a list of units. All calls of a unit have one step and one command, and differ
only in what the unit says (dims): d the directory, S and F the variables STAGE and FILE, a an
argument, i the input. Each effect enters a line into a ledger that tells what it was and for
what, from what it really met: TAG+DIRECTORY+STAGE+FILE+ARGUMENT+INPUT.
"""
import collections
import copy
import random
import shlex

LETTERS = "abcd"
# Of each dimension its place in a line of "d S F a i", and how a shell loop names it.
DIMS = "dSFai"

PROGRAMS = {
    # effect [-v] DIMS TAG [ARGUMENT]: enters what it is into the ledger. A file of that name in
    # faults/ says what is to go wrong this once, before or after that.
    "effect": """\
case $1 in -v*) shift ;; esac
dims=$1 tag=$2
shift 2
d=- s=- f=- i=-
case $dims in *d*) d=${PWD##*/} ;; esac
case $dims in *S*) s=${STAGE:--} ;; esac
case $dims in *F*) f=${FILE:--} ;; esac
case $dims in *i*) read -r i || : ;; esac
case $i in *'"x":"'*) i=${i#*'"x":"'} i=${i%%'"'*} ;; esac
what=$tag+$d+$s+$f+${1:--}+$i
read -r attempt <"$CAMPAIGN/attempt"
echo "begun $attempt $AWF_RUN_ID $AWF_CALL $what" >>"$CAMPAIGN/calls"
when= who=
if [ -e "$CAMPAIGN/faults/$what" ]; then
	read -r when who <"$CAMPAIGN/faults/$what"
	rm "$CAMPAIGN/faults/$what"
fi
strike() {
	[ "$who" != self ] || kill -9 $$
	echo "$who $PPID" >>"$CAMPAIGN/strike"
	sleep 20
	exit 9
}
case $when in
fail)
	echo "ended $attempt $AWF_RUN_ID $AWF_CALL $what" >>"$CAMPAIGN/calls"
	echo "no database" >&2
	exit 1
	;;
before) strike ;;
esac
echo "done $attempt $AWF_RUN_ID $AWF_CALL $what" >>"$CAMPAIGN/calls"
case $when in after) strike ;; esac
echo "ended $attempt $AWF_RUN_ID $AWF_CALL $what" >>"$CAMPAIGN/calls"
case $dims in *i*) printf '%s\\n' "$i" ;; esac
""",
    # report DIMS TAG: no effect, but a result that depends on the same.
    "report": """\
d=- s=- f=-
case $1 in *d*) d=${PWD##*/} ;; esac
case $1 in *S*) s=${STAGE:--} ;; esac
case $1 in *F*) f=${FILE:--} ;; esac
printf '%s.%s.%s.%s\\n' "$2" "$d" "$s" "$f"
""",
    # step: awf-step, of which it is kept what it was given and what it said.
    "step": """\
printf '%s\\t%s\\t%s\\t%s\\n' "$PWD" "${STAGE:--}" "${FILE:--}" "$*" >"$CAMPAIGN/said/$$"
printf '%s\\t%s\\t%s\\t%s\\n' "${PWD##*/}" "${STAGE:--}" "${FILE:--}" "$*" >>"$CAMPAIGN/steps"
exec awf-step "$@" 2>>"$CAMPAIGN/said/$$"
""",
    # jitter N: as long as this attempt has it for N.
    "jitter": """\
read -r delay <"$CAMPAIGN/delays/$1"
sleep "$delay"
""",
}

# What stands at the head of a script and must not matter.
NOISE = {
    "tmpdir": "export TMPDIR=$(mktemp -d)",
    "started": "export STARTED=\"$(date +%s.%N)\"",
    "path": "export PATH=\"$PWD/x:$PATH\"",
    "venv": "export VIRTUAL_ENV=\"$PWD/.venv\" _OLD_VIRTUAL_PATH=\"$PATH\" PATH=\"$PWD/.venv/bin:$PATH\" PS1='(venv) '",
    "pid": "export RUN_PID=$$",
    "cd": "cd / && cd - >/dev/null",
    "source": "set -a; COLOUR=red; set +a",
    "log": "export LOG=$(mktemp)",
    "function": "helper() { echo \"$(date)\"; }; export -f helper",
    "comment": "# what this does",
}
# The environments in which a run is started or resumed.
ENVIRONMENTS = ("same", "terminal", "cron", "empty", "make", "functions")
TERMINAL = {"TERM": "xterm", "COLUMNS": "80", "SSH_AUTH_SOCK": "/tmp/ssh-x/agent.1",
            "DISPLAY": ":0", "SHLVL": "3", "OLDPWD": "/tmp", "LS_COLORS": "no=00"}
MAKE = {"MAKEFLAGS": "w", "MAKELEVEL": "1", "MFLAGS": "-w"}
FUNCTIONS = {"BASH_FUNC_helper%%": "() {  echo \"$(date)\"\n}", "BASH_ENV": "/dev/null"}

FORMS = ("seq", "loop", "bg", "bg", "xargs", "make", "parallel", "child", "stream", "each")
STRIKES = ("self", "step", "run", "everything", "term")


class Unit:
    def __init__(self, choices, number):
        self.tag, self.name, self.flag = f"t{number}", f"n{number}", ""
        self.kind = choices.choice(("effect",) * 6 + ("agent", "agent", "result", "result", "approve", "tool"))
        self.form = choices.choice(FORMS)
        self.wrap = None
        # The child run that the work of each item is in: of a text or of a file; None: of none.
        self.nest = None
        if self.kind == "approve":
            self.form = choices.choice(("seq", "loop"))
        if self.kind == "tool" and self.form in ("child", "each", "stream"):
            self.form = "bg"
        if self.kind in ("agent", "result") and self.form in ("child", "each", "stream"):
            self.form = "xargs"
        self.style = choices.choice(("export", "prefix", "env"))
        # The version of its program, which is a file of the workspace; 0: it is none.
        self.program = int(self.kind in ("effect", "approve") and choices.random() < 0.4)
        self.scratch = choices.random() < 0.08
        self.wait = choices.random() < 0.7
        dims = {
            "tool": ("di", "Si", "i", "dFi"),
            "approve": ("d", "S", "dF"),
            "agent": ("d", "S", "a", "da", "Fa"),
            "result": ("d", "S", "F", "dS"),
            "effect": ("d", "d", "S", "F", "dS", "a", "i", "di", "Sa", "dSFai", ""),
        }[self.kind]
        self.dims = choices.choice(dims)
        if self.form in ("stream", "each"):
            self.dims = "i"
        self.items = []
        while len(self.items) < choices.randint(2, 4):
            self.add_item(choices)

    def add_item(self, choices):
        """Another one, unless this one is there."""
        item = {dim: choices.choice(LETTERS) if dim in self.dims else "-" for dim in DIMS}
        if not self.dims or item not in self.items:
            self.items.insert(choices.randint(0, len(self.items)), item)

    # What it comes to.

    def content(self, item):
        if self.kind == "result":
            given = "{}.{}.{}.{}".format(self.tag, *(item[dim] for dim in "dSF"))
            return f"{self.tag}+-+-+-+-+{given}"
        return "+".join([self.tag, *(item[dim] for dim in DIMS)])

    def contents(self):
        return collections.Counter(self.content(item) for item in self.items) \
            if self.kind != "agent" else collections.Counter()

    def prompts(self):
        return collections.Counter(f"{self.tag} {item['a']}" for item in self.items) \
            if self.kind == "agent" else collections.Counter()

    # How it is written.

    def effect(self):
        return f'"$AWF_WORKFLOW_DIR"/{self.tag}.sh' if self.program else "effect"

    def line(self, value, slot, body=""):
        """The commands of one item, whose values are these words of a shell."""
        text = f"jitter {slot}; " if self.form in ("bg", "xargs", "make", "parallel") else ""
        if "d" in self.dims:
            text += f"cd {value['d']} && "
        if self.scratch:
            text += "export SCRATCH=$(mktemp) && "
        pairs = [f"{name}={value[dim]}" for dim, name in (("S", "STAGE"), ("F", "FILE"))
                 if dim in self.dims]
        set_for = ""
        if pairs and (self.style == "export" or self.kind in ("approve", "result")):
            text += f"export {' '.join(pairs)} && "
        elif pairs:
            set_for = ("env " if self.style == "env" else "") + " ".join(pairs) + " "
        return text + (set_for + body if body else self.work(value, set_for))

    def work(self, value, set_for):
        given = "" if "i" in self.dims else "-n "
        argument = f" {value['a']}" if "a" in self.dims else ""
        reads = f"echo {value['i']} | " if "i" in self.dims else ""
        effect = f"{self.effect()} {self.flag}{self.dims or '-'} {self.tag}{argument}"
        if self.kind == "agent":
            argument = value["a"] if "a" in self.dims else "-"
            prompt = f'"{self.tag} "{argument}' if argument[0] == '"' else f'"{self.tag} {argument}"'
            return f"{set_for}step -n -q -a ag -p {prompt} {self.name}"
        if self.kind == "result":
            return f"step -n {self.name}_who -- report {self.dims} {self.tag} | " \
                f"step -q --effects external {self.name} -- effect {self.flag}i {self.tag}"
        if self.kind == "tool":
            # The tool is a file of the workflow.
            return f"echo '{{\"x\":\"'{value['i']}'\"}}' | {set_for}step -i json -q -t {self.tag} {self.name}"
        approve = f"step -n -q --approve {self.name}_ok && " if self.kind == "approve" else ""
        if self.nest:
            inner = f"step {given}-q --effects external {self.name} -- {effect}"
            child = f"-c {shlex.quote(inner)}" if self.nest == "text" else f'"$AWF_WORKFLOW_DIR"/{self.tag}.awf'
            return f"{reads}{set_for}awf-run {given}{child}"
        if self.wrap:
            # Variables of the shell around it are not those of the body.
            inner = f"step -q --effects external {self.name} -- {self.effect()} {self.flag}{self.dims or '-'} " \
                f"{self.tag}" + (' "$1"' if argument else "")
            return f"{approve}{reads}{set_for}step {given}-q --each {self.wrap} -- " \
                f"sh -c {shlex.quote(inner)}" + (f" sh{argument}" if argument else "")
        return f"{approve}{reads}{set_for}step {given}-q --effects external {self.name} -- {effect}"

    def write(self, files, slot):
        """Its statements; other files that it needs."""
        words = {dim: f'"${dim}"' for dim in DIMS}
        if self.program:
            files[f"{self.tag}.sh"] = f'#!/bin/sh\n# version {self.program}\nexec effect "$@"\n'
        if self.nest == "file":
            given = "" if "i" in self.dims else "-n "
            files[f"{self.tag}.awf"] = f"step {given}-q --effects external {self.name} -- " \
                f"{self.effect()} {self.flag}{self.dims or '-'} {self.tag}\n"
        rows = [" ".join([*(item[dim] for dim in DIMS), str(slot + at)])
                for at, item in enumerate(self.items)]
        lines = [self.line(item, slot + at) for at, item in enumerate(self.items)]
        if self.kind == "tool":
            files[f"tools/{self.tag}.tool.json"] = \
                f'{{"command": ["effect", "{self.dims}", "{self.tag}"], "effects": "external"}}\n'
        if self.form == "child":
            return self.write_child(files, slot)
        if self.form == "seq":
            return "".join(f"( {line} )\n" for line in lines)
        if self.form == "loop":
            return "while read -r d S F a i _; do ( %s ); done <<'END'\n%s\nEND\n" % (
                self.line(words, slot), "\n".join(rows))
        if self.form == "bg":
            return "".join(f"( {line} ) &\n" for line in lines) + ("wait\n" if self.wait else "")
        if self.form == "xargs":
            body = "d=$1 S=$2 F=$3 a=$4 i=$5; " + self.line(words, '"$6"')
            return f"xargs -P 3 -L 1 sh -c {shlex.quote(body)} sh <<'END'\n" + "\n".join(rows) + "\nEND\n"
        if self.form == "make":
            makefile = "all: " + " ".join(f"x{at}" for at in range(len(lines))) + "\n"
            for at, line in enumerate(lines):
                makefile += f"x{at}:\n\t@{line.replace('$', '$$')}\n"
            files[f"{self.tag}.mk"] = makefile
            return f"make -s -k -j 3 -f {self.tag}.mk all\n"
        if self.form == "parallel":
            return f"step -n -q --parallel {self.name}_all -- \\\n\t" + \
                " \\\n\t".join(shlex.quote(line) for line in lines) + "\n"
        effect = f"step -q --effects external {self.name} -- {self.effect()} {self.flag}i {self.tag}"
        given = " ".join(item["i"] for item in self.items)
        if self.form == "stream":
            return f"printf '%s\\n' {given} | {effect.replace('step ', 'step -i lines -j 2 ', 1)}\n"
        return f"printf '%s\\n' {given} | step -i lines -q -j 2 --each {self.name}_each -- sh -c " \
            f"{shlex.quote(effect)}\n"

    def write_child(self, files, slot):
        argument = "\"$1\"" if "a" in self.dims else ""
        given, reads = ("", "") if "i" in self.dims else ("-n ", "")
        files[f"{self.tag}.awf"] = \
            f"step {given}-q --effects external {self.name} -- {self.effect()} {self.flag}{self.dims or '-'} {self.tag} {argument}\n"
        text = ""
        for at, item in enumerate(self.items):
            reads = f"echo {item['i']} | " if "i" in self.dims else ""
            argument = f" {item['a']}" if "a" in self.dims else ""
            child = f"awf-run {given}\"$AWF_WORKFLOW_DIR\"/{self.tag}.awf{argument}"
            line = self.line(item, slot + at, child)
            if reads:
                before, _, after = line.rpartition(" && ")
                line = before + (" && " if before else "") + reads + after
            text += f"( {line} )\n"
        return text


class Version:
    """A script as it is at some time."""

    def __init__(self, bash, strict, noise, units):
        self.bash, self.strict, self.noise, self.units = bash, strict, noise, units

    def files(self):
        files = {}
        text = "#!/usr/bin/env -S awf-run --\n" + "".join(f"{NOISE[name]}\n" for name in self.noise
                              if self.bash or name != "function")
        if self.strict:
            text += "set -e\n"
        for unit in self.units:
            text += unit.write(files, 8 * (int(unit.tag[1:]) % 100))
        text += "wait\nstep -n -q gate -- test -e \"$CAMPAIGN/open\"\n"
        files["flow.awf"] = text
        return files

    def contents(self):
        return sum((unit.contents() for unit in self.units), collections.Counter())

    def prompts(self):
        return sum((unit.prompts() for unit in self.units), collections.Counter())

    def edited(self, edits):
        """What the edits make of it, and the words for them. One of what is not there is none."""
        new, told = copy.deepcopy(self), []
        for kind, tag, seed in edits:
            choices = random.Random(seed)
            unit = next((unit for unit in new.units if unit.tag == tag), None)
            if apply_edit(new, kind, unit, choices):
                told.append(f"{kind} {tag}" if unit else kind)
        return new, told


def apply_edit(version, kind, unit, choices):
    """Whether it has changed anything."""
    steady = unit is None or unit.kind in ("agent", "approve") or not unit.dims
    if kind == "noise":
        name = choices.choice(list(NOISE))
        if name in version.noise:
            version.noise.remove(name)
        else:
            version.noise.insert(choices.randint(0, len(version.noise)), name)
        return True
    if kind == "reorder":
        if len(version.units) < 2:
            return False
        choices.shuffle(version.units)
        return True
    if kind == "insert":
        number = choices.randint(100, 999)
        if any(unit.tag == f"t{number}" for unit in version.units):
            return False
        version.units.insert(choices.randint(0, len(version.units)), Unit(choices, number))
        return True
    if unit is None:
        return False
    if kind == "remove":
        version.units.remove(unit)
        return True
    if kind == "items":
        # Branches are known by their place.
        if unit.form == "parallel":
            return False
        choices.shuffle(unit.items)
        return True
    if kind in ("more", "fewer") and unit.form == "parallel" and unit.kind == "agent":
        return False  # the group is another one, and so are the agents in it
    if kind == "more":
        unit.add_item(choices)
        return True
    if kind == "fewer":
        if len(unit.items) < 2:
            return False
        unit.items.pop(choices.randrange(len(unit.items)))
        return True
    if kind == "rename":
        if steady:
            return False
        unit.name += choices.choice("xyz")
        return True
    if kind == "wrap":
        if steady or unit.kind != "effect" or unit.form in ("stream", "each", "child") or unit.nest:
            return False
        unit.wrap = None if unit.wrap else f"{unit.tag}_group"
        return True
    if kind == "nest":
        if steady or unit.kind != "effect" or unit.form in ("stream", "each", "child") or "a" in unit.dims:
            return False
        # A program is named by $AWF_WORKFLOW_DIR, which in a text is the directory where that runs.
        ways = (None, "file") if unit.program and "d" in unit.dims else (None, "text", "file")
        unit.wrap, unit.nest = None, choices.choice([way for way in ways if way != unit.nest])
        return True
    if kind == "again":
        # Another step that does the same; files are named after the tag, so that it has none of its own.
        if steady or unit.kind != "effect" or unit.form in ("make", "child") or unit.nest == "file" or unit.scratch or \
                any(other is not unit and other.tag == unit.tag for other in version.units):
            return False
        more = copy.deepcopy(unit)
        more.name += "_again"
        version.units.insert(choices.randint(0, len(version.units)), more)
        return True
    if kind == "program":
        unit.program += unit.program > 0
        return unit.program > 0
    if kind == "flag":
        if steady or unit.kind == "tool":
            return False
        unit.flag = "" if unit.flag else "-v "
        return True
    if kind == "form":
        forms = ("seq", "loop", "bg", "xargs", "make")
        if unit.form not in forms or unit.kind == "approve":
            return False
        unit.form = choices.choice([form for form in forms if form != unit.form])
        return True
    raise AssertionError(kind)


EDITS = ("noise", "reorder", "insert", "remove", "items", "items", "more", "fewer", "rename",
         "rename", "wrap", "wrap", "nest", "nest", "again", "again", "flag", "form", "form",
         "program", "program", "program")


class Scenario:
    """All that is decided before anything runs, so that parts of it can be left out."""

    def __init__(self, seed):
        choices = random.Random(seed)
        self.bash, self.strict = choices.random() < 0.3, choices.random() < 0.3
        self.noise = [name for name in NOISE if choices.random() < 0.2]
        self.units = [Unit(choices, number) for number in range(choices.randint(1, 4))]
        self.rounds = []
        tags = [unit.tag for unit in self.units]
        edits_at_all = choices.random() < 0.7
        for number in range(choices.randint(3, 6)):
            edits = []
            if number and edits_at_all and choices.random() < 0.6:
                edits = [(choices.choice(EDITS), choices.choice(tags), choices.random())
                         for _ in range(choices.randint(1, 2))]
            faults = []
            for _ in range(choices.randint(0, 2) + (number == 0)):
                when = choices.choice(("fail", "fail", "before", "after", "after"))
                who = "-" if when == "fail" else choices.choice(STRIKES)
                faults.append((choices.choice(tags), choices.random(), when, who))
            environment = choices.choice(ENVIRONMENTS) if choices.random() < 0.4 else "same"
            self.rounds.append({"edits": edits, "faults": faults, "environment": environment,
                                "delays": choices.random()})

    def first(self):
        return Version(self.bash, self.strict, list(self.noise), copy.deepcopy(self.units))

    def smaller(self):
        """The scenarios that have one thing less."""
        for at in range(len(self.rounds) - 1, 0, -1):
            yield self.without(lambda new, at=at: new.rounds.pop(at))
        for at in range(len(self.units)):
            if len(self.units) > 1:
                yield self.without(lambda new, at=at: new.units.pop(at))
        for at, each in enumerate(self.rounds):
            for key in ("edits", "faults"):
                for index in range(len(each[key])):
                    yield self.without(lambda new, at=at, key=key, index=index: new.rounds[at][key].pop(index))
            if each["environment"] != "same":
                yield self.without(lambda new, at=at: new.rounds[at].update(environment="same"))
        for name in self.noise:
            yield self.without(lambda new, name=name: new.noise.remove(name))
        for key in ("bash", "strict"):
            if getattr(self, key):
                yield self.without(lambda new, key=key: setattr(new, key, False))
        for at, unit in enumerate(self.units):
            for index in range(len(unit.items)):
                if len(unit.items) > 2:
                    yield self.without(lambda new, at=at, index=index: new.units[at].items.pop(index))
            if unit.scratch:
                yield self.without(lambda new, at=at: setattr(new.units[at], "scratch", False))
            if unit.form in ("bg", "xargs", "make", "loop") and unit.kind != "approve":
                yield self.without(lambda new, at=at: setattr(new.units[at], "form", "seq"))

    def without(self, change):
        new = copy.deepcopy(self)
        change(new)
        return new
