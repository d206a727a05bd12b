"""Random workflows whose result and effects do not depend on when anything happens.

What flows are texts of one line. Most stages append their name to it, so that the result
tells what it went through. An effect enters its input into a ledger and passes it on, so
that one that was skipped, as it had happened, changes nothing of the result.
"""
import os
import shlex

from crash_world import write

# Each reads its input to the end, and takes its time before and after it did something.
PROGRAMS = {
    # act NAME MS: appends its name.
    "act": """\
input=$(cat)
sleep "0.00$2"
printf '%s.%s\\n' "$input" "$1"
""",
    # pieces NAME COUNT: COUNT lines.
    "pieces": """\
input=$(cat)
sleep 0.002
i=0
while [ "$i" -lt "$2" ]; do
	i=$((i + 1))
	printf '%s.%s_%s\\n' "$input" "$1" "$i"
done
""",
    # joined NAME: one text of an array.
    "joined": """\
sed 's/["[]//g; s/]//g; s/,/+/g; s/$/.'"$1/"
""",
    # effect NAME: something outside.
    "effect": """\
input=$(cat)
sleep 0.002
printf '%s %s %s\\n' "$AWF_RUN_ID" "$AWF_CALL" "$input" >>"$LEDGERS/$1"
sleep 0.003
printf '%s\\n' "$input"
""",
    # deny PATTERN COMMAND...: fails for some inputs.
    "deny": """\
input=$(cat)
case $input in
*$1*) echo "not $1" >&2; exit 1 ;;
esac
shift
printf '%s\\n' "$input" | "$@"
""",
    # flaky NAME TIMES COMMAND...: fails that often for each input, having printed something.
    "flaky": """\
input=$(cat)
file=${FLAKY:-$LEDGERS}/flaky.$1.$(printf '%s' "$input" | cksum | tr ' ' .)
times=$2
shift 2
if [ -z "$CALM" ] && [ "$(cat "$file" 2>/dev/null | wc -c)" -lt "$times" ]; then
	printf x >>"$file"
	echo half
	exit 1
fi
printf '%s\\n' "$input" | "$@"
""",
}
# tainted KIND: a word that is another one in each process, or each time, or each place.
PROGRAMS["tainted"] = """\
race() {
	for i in 1 2 3 4 5 6 7 8 9; do
		{ sleep 0.002; echo "$i"; } &
	done
	wait
}
case $1 in
clock) date +%N ;;
pid) echo $$ ;;
chance) head -c 8 /dev/urandom ;;
host) uname -n ;;
umask) umask ;;
listing) ls -U listed ;;
hash) perl -e 'print keys %{{map {$_ => 1} 1 .. 20}}' ;;
environment) echo "$TAINT" ;;
age) stat -c %Y listed/1 ;;
inode) stat -c %i listed/1 ;;
uptime) cat /proc/uptime ;;
outside) cat "$(cat outside)" 2>/dev/null ;;
race) race; race; race ;;
day) date +%F ;;
zone) date -d @0 +%H ;;
processors) nproc ;;
esac | cksum | tr ' ' _
"""
# What it says is another in a replay.
TAINTS = ("clock", "pid", "chance", "host", "umask", "listing", "hash", "environment", "age",
          "inode", "uptime", "outside", "race", "day", "zone",
          *(["processors"] if len(os.sched_getaffinity(0)) > 1 else []))
# Where it comes in: in what a step prints, prints to standard error, is given as argument,
# or as input.
PLACES = ("output", "output", "error", "argument", "input")
TOOLS = {
    "look": {"effects": "read", "concurrent": True},
    "count": {"effects": "none"},
    "mail": {"effects": "external"},
    "put": {"effects": "external", "idempotent": True},
    "jot": {"effects": "workspace"},
}
# Tools whose ledger has each input once; of the others at least once.
ONCE = ("mail", "jot")
MAP, ONE, MANY = "map", "one", "many"


def quoted(*words):
    return " ".join(shlex.quote(word) for word in words)


class Flow:
    """files {path: (text, mode)}, stdin, and kinds {ledger: how often each input
    is entered: once, least or most once, or any number of times}."""

    def __init__(self, random, size, pure=False, taint=None):
        """pure: what runs again in a replay needs nothing but the workspace. taint: (number
        of the step, place, kind), in which it comes out otherwise each time."""
        self.random, self.files, self.kinds, self.count = random, {}, {}, 0
        self.pure, self.taint, self.taintable = pure, taint, []
        self.agents = self.flaky = 0
        self.in_any = False   # of branches of any, one wins and the others may be cut off
        self.in_retry = False
        self.in_loop = False  # data that becomes null would have lost what ends it
        self.in_child = False
        # What fails at first, and is to be made good by a resume, must not be rescued.
        self.rescues = random.random() < 0.4
        self.stdin = "".join(f"{item}\n" for item in "abc"[:random.randint(1, 3)])
        self.kinds.update({tool: "once" if tool in ONCE else "least" for tool in TOOLS})
        self.script = self.top(size)
        self.files["flow.awf"] = ("#!/usr/bin/env -S awf-run --\n" + self.script, 0o755)
        for name, text in PROGRAMS.items():
            self.files[f"bin/{name}"] = ("#!/bin/sh\n" + text, 0o755)
        for name, members in TOOLS.items():
            self.files[f"tools/{name}.tool.json"] = (self.tool(name, members), 0o644)

    def tool(self, name, members):
        command = ["act", name] if name == "count" else ["effect", name]
        pairs = ", ".join(f'"{key}": {str(value).lower() if value is True else quote(value)}'
                          for key, value in members.items())
        return f'{{"command": ["{command[0]}", "{command[1]}"], {pairs}}}'

    def lay_out(self, directory):
        for path, (text, mode) in self.files.items():
            write(os.path.join(directory, path), text, mode)

    def name(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, *weighted):
        """One of (weight, value)."""
        return self.random.choices([value for _, value in weighted],
                                   [weight for weight, _ in weighted])[0]

    # Programs and steps.

    def act(self, name):
        return quoted("act", name, str(self.random.randint(0, 5)))

    def jobs(self):
        return self.pick((4, ""), (1, "-j 2 "), (1, "-j 3 "))

    def map(self, _):
        name = self.name("m")
        effects = self.pick((4, ""), (1, "--effects none "), (1, "--effects read "),
                            (1, "--when 'grep -q b' "))
        jobs, work = self.jobs(), self.act(name)
        if not self.in_any:
            self.taintable.append(name)
        if not self.taint or self.in_any or len(self.taintable) != self.taint[0] + 1:
            return f"awf-step {jobs}{effects}{name} -- {work}"
        _, place, kind = self.taint
        if place == "output":
            work = "sh -c " + quoted(f"act {name}.$(tainted {kind}) 1")
        elif place == "error":
            work = "sh -c " + quoted(f"tainted {kind} >&2; {work}")
        elif place == "argument":
            work = f"act {name}.$(tainted {kind}) 1"
        step = f"awf-step {jobs}{name} -- {work}"
        if place == "input":
            step = f"jq -c --arg more \"$(tainted {kind})\" '.data += \".\" + $more' | {step}"
        return step

    def unsteady(self, _):
        """Fails at first: made good by a retry, or by the next attempt at the run."""
        name, retried = self.name("u"), self.rescues or self.chance(0.5) or self.in_any or \
            self.pure
        if not retried:
            self.flaky += 1
        work = self.pick((3, self.act(name)), (2, quoted("pieces", name, "2")))
        lines = "-O lines " if work.startswith("pieces") else ""
        if lines and not self.many:
            work, lines = self.act(name), ""
        retries = "--retries 2 --delay 1ms " if retried else ""
        return f"awf-step {retries}{lines}{name} -- {quoted('flaky', name, '1')} {work}"

    def split(self, _):
        name = self.name("p")
        return f"awf-step {self.jobs()}-O lines {name} -- " \
            f"{quoted('pieces', name, str(self.random.randint(1, 3)))}"

    def effect(self, _):
        name = self.name("e")
        kind = self.pick((5, "external"), (2, "external,idempotent"), (0 if self.pure else 1, "workspace"))
        if "idempotent" in kind:
            self.kinds[name] = "any" if self.in_any else "least"
        else:
            self.kinds[name] = "most" if self.in_any else "once"
        work = quoted("effect", name)
        if self.chance(0.15) and not self.rescues and not self.pure:
            self.flaky += 1
            work = quoted("flaky", name, "1") + " " + work
        return f"awf-step {self.jobs()}--effects {kind} {name} -- {work}"

    def join(self, _):
        name = self.name("j")
        return f"awf-step -s {name} -- {quoted('joined', name)}"

    def agent(self, _):
        name = self.name("ag")
        self.agents += 1
        plan = []
        for _turn in range(self.random.randint(0, 2)):
            tools = [self.pick((1, "look"), (1, "count"), (1, "put"))
                     for _ in range(self.random.randint(0, 2))]
            if self.chance(0.6) and not self.in_any:
                tools.insert(self.random.randint(0, len(tools)), self.pick((2, "mail"), (0 if self.pure else 1, "jot")))
            plan.append(",".join(tools or ["look"]))
        tools = sorted({tool for turn in plan for tool in turn.split(",")})
        text = f"---\nprovider: anthropic\nmodel: test\ntools: [{', '.join(tools)}]\n---\n" \
            f"You are agent {name} plan {';'.join(plan)}\n"
        self.files[f"agents/{name}.md"] = (text, 0o644)
        return f"awf-step {self.jobs()}-a {name} {name}"

    def rescued(self, _):
        name, rescue = self.name("d"), self.name("r")
        pattern = self.pick((2, "b"), (1, "a"))
        return f"awf-step {name} -- {quoted('deny', pattern)} {self.act(name)} | " \
            f"awf-step --rescue {rescue} -- {self.act(rescue)}"

    def allowed(self, _):
        name, after = self.name("d"), self.name("m")
        return f"awf-step --allow-failure {name} -- {quoted('deny', 'b')} {self.act(name)} | " \
            f"awf-step {after} -- {self.act(after)}"

    def filter(self, _):
        return self.pick((1, "cat"), (1, "jq -c ."))

    # Groups.

    def body(self, depth, many):
        return self.stages(self.random.randint(1, 2), depth + 1, many)

    def each(self, depth):
        name = self.name("g")
        retries = ""
        was = self.in_retry
        if self.chance(0.2):
            retries, self.in_retry = "--retries 1 --delay 1ms ", True
        body = self.body(depth, self.many)
        self.in_retry = was
        return f"awf-step {self.jobs()}{retries}--each {name} -- sh -c {quoted(body)}"

    def loop(self, depth):
        # The name of a step stands in the path of a state line, and so in what COND reads.
        name, step, mark = self.name("l"), self.name("m"), self.name("x")
        was, self.in_loop = self.in_loop, True
        body = f"awf-step {step} -- {self.act(mark)} | " + self.body(depth, False)
        self.in_loop = was
        twice = f"[.]{mark}[^0-9].*[.]{mark}[^0-9]"
        form = self.pick((1, "--max 2"), (2, "--until " + quoted(f"grep -q {quoted(twice)}")),
                         (1, "--while " + quoted(f"grep -vq {quoted(twice)}")))
        return f"awf-step {form} {name} -- sh -c {quoted(body)}"

    def parallel(self, depth):
        name = self.name("b")
        bodies = [f"{self.map(depth)} | {self.body(depth, False)}"
                  for _ in range(self.random.randint(2, 3))]
        return f"awf-step --parallel {name} -- {quoted(*bodies)}"

    def any(self, depth):
        name, mark, was = self.name("y"), self.name("x"), self.in_any
        self.in_any, bodies = True, []
        for _ in range(2):
            step = self.name("m")
            body = f"awf-step {step} -- {self.act(mark)}"
            if self.chance(0.4):
                body += " | " + self.effect(depth)
            if self.chance(0.3):
                step = self.name("m")
                body = f"awf-step {step} -- deny . true"
                if bodies and "deny" in bodies[0]:
                    body = f"awf-step {step} -- {self.act(mark)}"
            bodies.append(body)
        self.in_any = was
        return f"awf-step --parallel --strategy any {name} -- {quoted(*bodies)}"

    def best(self, depth):
        name, step, rescue = self.name("t"), self.name("d"), self.name("r")
        bodies = [self.body(depth, False), f"awf-step {step} -- deny . true"]
        self.random.shuffle(bodies)
        return f"awf-step --parallel --strategy best-effort {name} -- {quoted(*bodies)} | " \
            f"awf-step --rescue {rescue} -- {self.act(rescue)}"

    def child(self, depth):
        name, was, self.in_child = self.name("k"), self.in_child, True
        body = self.stages(self.random.randint(1, 2), depth + 1, self.many)
        self.in_child = was
        self.files[f"{name}.awf"] = ("#!/usr/bin/env -S awf-run --env FLAKY --\n" + body + "\n",
                                       0o755)
        return f"./{name}.awf"

    def stage(self, depth):
        """A form of stage that may stand here."""
        forms = [(6, self.map), (3, self.unsteady), (6, self.effect), (1, self.filter)]
        if not self.in_loop:
            forms.append((1, self.allowed))
        if self.rescues:
            forms.append((3, self.rescued))
        if not self.in_any and not self.in_retry:
            forms.append((3, self.agent))
        if self.many:
            forms += [(3, self.split)]
        if depth < 2:
            forms += [(3, self.each), (2, self.loop), (2, self.any)]
            if not self.in_child:
                forms.append((2, self.child))
            if self.many:
                forms.append((2, self.parallel))
                if self.rescues:
                    forms.append((2, self.best))
        return self.pick(*forms)(depth)

    def stages(self, count, depth, many):
        """A pipeline; many: it may print more items than it reads."""
        was = getattr(self, "many", True)
        self.many = many
        done = [self.stage(depth) for _ in range(count)]
        if all(text in ("cat", "jq -c .") for text in done):
            done.append(self.map(depth))
        self.many = was
        return " | ".join(done)

    # The whole script.

    def before(self):
        """A statement before the pipeline."""
        name = self.name("n")
        form = self.random.randint(0, 3)
        if form == 0:
            self.kinds[name] = "once"
            return f"awf-step -n -q --effects external {name} -- {quoted('effect', name)}\n"
        if form == 1:
            self.kinds[name] = "once"
            return f"for item in 1 2; do\n\tawf-step -n -q --effects external {name} -- sh -c " \
                f"\"echo $item | effect {name}\"\ndone\n"
        if form == 2:
            return f"awf-step -n -q {name} -- {self.act(name)} &\n"
        return f"{name}=$(awf-step -n -r {name} -- {self.act(name)})\necho \"${name}\"\n"

    def top(self, size):
        self.many = True
        text = "PATH=$PWD/bin:$PATH\nset -e\n"
        if self.chance(0.3):
            text += self.before()
        source = self.name("s")
        text += f"awf-step -i lines {source} -- {self.act(source)} | " + self.stages(size, 0, True)
        if self.chance(0.25):
            # What a step writes to a file is there whole, or the shell ends here.
            kept = self.name("m")
            text += f" | awf-step -o middle {kept} -- {self.act(kept)}\n<middle "
            kept = self.name("m")
            text += f"awf-step {kept} -- {self.act(kept)} | " + self.stages(1, 0, True)
        if self.chance(0.5):
            text += " | " + self.join(0)
        end, raw = self.name("z"), "-r "
        if self.pure and self.chance(0.3):
            raw = ""
        return text + f" | awf-step {raw}{end} -- {self.act(end)}\nwait\n"


def quote(text):
    return '"' + text.replace('"', '\\"') + '"'
