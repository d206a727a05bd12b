#!/usr/bin/env python3
"""Draws the animated picture of README: what a terminal shows of a run under way, as SVG.

A workflow is run by awf-run in a terminal of tmux. Its models are played by a provider that is
written here, and halt, as its commands do, in the middle of their work. From the beginning of the run
until the live view shows all of that, the terminal's cells become text of the picture again and
again, in their colours: each time a frame. The last frame stays for a while; who wants no motion
sees that one alone. Nothing in it is drawn by hand, and but for times the last frame is the same each
time.

usage: BUILD=/abs/build picture.py FILE
"""
import html
import os
import re
import subprocess
import sys
import tempfile
import time
import unicodedata

WIDTH, HEIGHT = 96, 20          # of the terminal
CELL, LINE, SIZE, PAD = 8.4, 19, 14, 16
LIMIT = 30                      # seconds until the view shows what is waited for
EACH, LAST = 0.3, 4             # seconds that a frame stays, and the last one
COMMAND = "git diff | awf-run ./review.awf"

# Light and dark, for what SGR calls them by number: red, green, yellow, blue, cyan.
COLOURS = {
    "31": ("c", "#cf222e", "#ff7b72"), "32": ("g", "#1a7f37", "#56d364"),
    "33": ("y", "#9a6700", "#e3b341"), "34": ("b", "#0969da", "#79c0ff"),
    "36": ("t", "#1b7c83", "#39c5cf"),
}

FILES = {
    # The same run each time.
    "awf-run": """#!/bin/sh
[ "$#" -ne 1 ] || set -- --id 5f1c2a7e-8d04-4b6f-9a3e-2c71d0b4e895 "$@"
exec "$BUILD/bin/awf-run" "$@"
""",
    "git": """#!/bin/sh
echo '+ name = form["name"]'
""",
    "review.awf": """#!/bin/sh
awf-step -q -p 'Plan the review of {{data}}' plan
seq 96 | awf-step -q --try -i lines -j 6 tests -- ./one_test 2>>errors &
awf-step -n -q --parallel review -- \\
    "awf-step -p 'Look for holes' security" \\
    "awf-step -a correctness.md -p 'Look for mistakes' correctness" \\
    "awf-step -p 'Look at the words' clarity"
wait
""",
    "one_test": """#!/bin/sh
read -r n
sleep 0.1
[ "$n" -ne 33 ] || { echo 'upload: expected 403, got 200' >&2; exit 1; }
[ "$n" -lt 84 ] || exec ./hold
""",
    "correctness.md": """---
tools: [run_tests]
---
You look for mistakes.
""",
    "tools/run_tests.tool.json": """{"description": "Runs the tests.", "input_schema": {"type": "object"}, "command": ["../hold"]}
""",
    "hold": """#!/bin/sh
while [ -e held ]; do sleep 0.05; done
""",
    # The agents are told apart by their prompts.
    "awf-provider-scripted": r"""#!/bin/sh
say() { printf '{"id":%s,"type":"delta","kind":"text","text":"%s"}\n' "$id" "$1"; }
end() {
	printf '{"id":%s,"type":"message","model":"m","blocks":[%s],"stop_reason":"%s","usage":{"input_tokens":%s,"output_tokens":%s}}\n' \
		"$id" "$3" "$4" "$1" "$2"
}
text() { end "$1" "$2" "{\"type\":\"text\",\"text\":\"$3\"}" end_turn; }
while IFS= read -r line; do
	id=${line#'{"id":'}
	id=${id%%,*}
	case $line in
	'{"cancel":'*) ;;
	*'Plan the review'*) sleep 0.8; text 2140 310 'One function changed: look at the path that it opens.' ;;
	*'Look at the words'*) sleep 1.3; text 1790 95 'The name says what it does; the comment does not.' ;;
	*'Look for holes'*)
		say 'upload.py:15: the name goes into the path as it came. With name=../../etc/cron.d/x '
		say 'an attacker writes any file that the server may write'
		./hold ;;
	*'Look for mistakes'*) end 1820 40 '{"type":"tool_use","tool_id":"a","tool_name":"run_tests","tool_input":{}}' tool_use ;;
	esac
done
""",
}


def capture(directory, build):
    """The cells of the terminal, as tmux has them with their SGR, from time to time until all is under way."""
    for name, text in FILES.items():
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
    held = os.path.join(directory, "held")
    open(held, "w", encoding="utf-8").close()
    environment = {
        "PATH": f"{directory}:{build}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": directory,
        "AWF_STORAGE": f"{directory}/storage", "AWF_PROVIDER_PATH": directory,
        "AWF_MODEL": "scripted/claude-sonnet-4-5", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color",
        "COMMAND": COMMAND, "BUILD": build,
    }
    # What is written here is the user's own, as awf trust --edits has it.
    trust = os.path.join(directory, ".local/share/awf/trust")
    os.makedirs(os.path.dirname(trust), mode=0o700)
    with open(trust, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(f"edits {directory}\n")
    tmux = ["tmux", "-u", "-f", "/dev/null", "-S", os.path.join(directory, "socket")]
    subprocess.run(
        tmux + ["new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT),
                'printf "$ %s\\n" "$COMMAND"; eval "$COMMAND"; exec sleep 60'],
        cwd=directory, env=environment, check=True)
    frames = []
    begun = time.monotonic()
    try:
        while time.monotonic() < begun + LIMIT:
            shown = subprocess.run(tmux + ["capture-pane", "-e", "-p"], check=True,
                                   capture_output=True, text=True).stdout
            plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
            if all(re.search(wanted, plain) for wanted in
                   ("83 of 96, .* 6 running, about", "✓ plan", "✓ review ▸ clarity", "writing, ", "✗ tests", "run_tests")):
                return frames + [shown]
            if plain.strip() and time.monotonic() > begun + EACH * len(frames):
                frames.append(shown)
            time.sleep(0.05)
        sys.exit("picture.py: the live view never shows what is waited for; the last was:\n" + shown)
    finally:
        os.remove(held)
        subprocess.run(tmux + ["kill-server"], check=False, capture_output=True)


def segments(line, state):
    """(column, text, classes) of a line: pieces of one look, what is not ASCII by itself, as it
    may come from a font with other widths."""
    column, pieces = 0, []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b"):
            for code in (part[2:-1] or "0").split(";"):
                if code == "0":
                    state.clear()
                elif code in ("1", "2"):
                    state.add("s" if code == "1" else "d")
                elif code in COLOURS or code == "39":
                    state.difference_update(look[0] for look in COLOURS.values())
                    if code != "39":
                        state.add(COLOURS[code][0])
                elif code == "22":
                    state.difference_update({"s", "d"})
            continue
        for text in re.findall(r"[\x20-\x7e]+|.", part):
            if text.strip():
                start = len(text) - len(text.lstrip())
                pieces.append((column + start, text.strip(), " ".join(sorted(state))))
            column += sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
    return pieces


def motion(count):
    """The style that shows the frames one after the other, for who has nothing against motion."""
    whole = EACH * (count - 1) + LAST
    rules = []
    for number in range(count):
        begin = f"{100 * EACH * number / whole:.2f}%{{visibility:visible}}"
        end = f"{100 * EACH * (number + 1) / whole:.2f}%{{visibility:hidden}}" if number < count - 1 else ""
        rules.append(f"@keyframes k{number}{{0%{{visibility:hidden}}{begin}{end}}}"
                     f".k{number}{{animation:k{number} {whole:.1f}s step-end infinite}}")
    return "@media (prefers-reduced-motion:no-preference){" + "".join(rules) + "}"


def draw(frames):
    frames = [frame.rstrip().split("\n") for frame in frames]
    width, height = round(WIDTH * CELL + 2 * PAD), max(map(len, frames)) * LINE + 2 * PAD
    light = "".join(f".{name}{{fill:{day}}}" for name, day, _ in COLOURS.values())
    dark = "".join(f".{name}{{fill:{night}}}" for name, _, night in COLOURS.values())
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="title" xml:space="preserve">',
        "<title id=\"title\">A run in a terminal: what it has done, and below that what it does "
        "just now, step by step</title>",
        "<!-- Made by `make picture` from a run; tests/support/picture.py. -->",
        "<style>",
        f"text{{font:{SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',"
        "'Liberation Mono',monospace;fill:#1f2328;white-space:pre}",
        "rect{fill:#f6f8fa;stroke:#d1d9e0}" + light + ".s{font-weight:bold}.d{opacity:.65}",
        "@media (prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#0d1117;stroke:#3d444d}"
        + dark + "}",
        ".f{visibility:hidden}.f:last-child{visibility:visible}" + motion(len(frames)),
        "</style>",
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>',
    ]
    for number, lines in enumerate(frames):
        state = set()
        out.append(f'<g class="f k{number}">')
        for row, line in enumerate(lines):
            pieces = []
            for column, text, look in segments(line, state):
                length = f' textLength="{len(text) * CELL:.1f}"' if text.isascii() and len(text) > 1 else ""
                name = f' class="{look}"' if look else ""
                pieces.append(f'<tspan x="{PAD + column * CELL:.1f}"{length}{name}>{html.escape(text, False)}</tspan>')
            if pieces:
                out.append(f'<text y="{PAD + row * LINE + SIZE}">{"".join(pieces)}</text>')
        out.append("</g>")
    return "\n".join(out + ["</svg>", ""])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: picture.py FILE")
    with tempfile.TemporaryDirectory() as directory:
        picture = draw(capture(directory, os.environ["BUILD"]))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(picture)


main()
