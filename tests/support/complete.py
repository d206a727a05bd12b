#!/usr/bin/env python3
"""What a shell makes of lines when the tab key is pressed behind them: complete.py SHELL.

Lines come on stdin, and go to stdout as the shell then has them. bash and zsh run on a pty, where
each line is typed, completed and handed to a function that tells its words, so that nothing of
it is run; fish is asked by `complete -C`, and its answer is put in place as its keyboard does.
"""
import os
import pty
import select
import subprocess
import sys
import tempfile
import time

ROOT = os.environ["ROOT"]
START = {
    "bash": """
for file in "$ROOT"/completions/*.bash; do . "$file"; done
bind 'set bell-style none'; bind 'set completion-query-items 0'; bind 'set page-completions off'
PS1=; tell() { printf '%s\\n' "$*" >>"$TOLD"; }
""",
    "zsh": """
bindkey -e; PROMPT=; LISTMAX=9999; unsetopt beep
fpath=($ROOT/completions $fpath); autoload -Uz compinit; compinit -u -D
zstyle ':completion:*' list-prompt ''; zstyle ':completion:*' select-prompt ''
tell() { print -r -- "$*" >>$TOLD }
""",
}
COMMAND = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


def on_terminal(shell, lines):
    with tempfile.TemporaryDirectory() as directory:
        told, start = directory + "/told", directory + "/start"
        open(told, "w").close()
        with open(start, "w") as file:
            file.write(START[shell] + "tell ready\n")
        child, terminal = pty.fork()
        if child == 0:
            os.environ.update(TOLD=told, TERM="dumb", INPUTRC="/dev/null")
            os.execvp(COMMAND[shell][0], COMMAND[shell])

        def answers(count):
            until = time.monotonic() + 20
            while time.monotonic() < until:
                if select.select([terminal], [], [], 0.005)[0]:
                    os.read(terminal, 65536)
                with open(told) as file:
                    got = file.read().splitlines()
                if len(got) >= count:
                    return got
            sys.exit(f"{shell} gave no answer to: {lines[count - 2]}")

        os.write(terminal, f" . {start}\n".encode())
        answers(1)
        for number, line in enumerate(lines):
            # Behind the completion: to the beginning of the line, for the word that it is told to.
            os.write(terminal, line.encode() + b"\t\x01tell \n")
            got = answers(number + 2)
        os.close(terminal)
        os.waitpid(child, 0)
        return got[1:]


def by_fish(lines):
    script = "set -p fish_complete_path $ROOT/completions; while read -l line; complete -C $line; echo; end"
    out = subprocess.run(["fish", "--no-config", "-c", script], input="\n".join(lines) + "\n",
                         capture_output=True, text=True, check=True).stdout
    for line, block in zip(lines, out.split("\n\n")):
        values = [text.split("\t")[0] for text in block.splitlines() if text]
        before, word = line.rsplit(" ", 1)
        common = os.path.commonprefix([value for value in values if value.startswith(word)])
        yield f"{before} {common or word}"


def main():
    shell, lines = sys.argv[1], sys.stdin.read().splitlines()
    for line in by_fish(lines) if shell == "fish" else on_terminal(shell, lines):
        print(line)


main()
