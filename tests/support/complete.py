#!/usr/bin/env python3
"""What a shell makes of lines when the tab key is pressed behind them: complete.py SHELL.

Lines come on stdin. Each is typed on a terminal, completed and handed to a function that tells its
words, so that nothing of it is run; they go to stdout as <WORD><WORD>.
"""
import os
import pty
import select
import signal
import sys
import tempfile
import time

START = {
    "bash": """
for file in "$ROOT"/completions/*.bash; do . "$file"; done
bind 'set bell-style none'; bind 'set completion-query-items 0'; bind 'set page-completions off'
PS1=; tell() { printf '<%s>' "$@" >>"$TOLD"; printf '\\0' >>"$TOLD"; }
""",
    "zsh": """
bindkey -e; PROMPT=; LISTMAX=9999; unsetopt beep
fpath=($ROOT/completions $fpath); autoload -Uz compinit; compinit -u -D
zstyle ':completion:*' list-prompt ''; zstyle ':completion:*' select-prompt ''
tell() { printf '<%s>' "$@" >>$TOLD; printf '\\0' >>$TOLD }
""",
    "fish": """
set -p fish_complete_path $ROOT/completions
function fish_prompt; end
function tell; printf '<%s>' $argv >>$TOLD; printf '\\0' >>$TOLD; end
""",
}
COMMAND = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}


def completed(shell, lines):
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
                    shown.append(os.read(terminal, 65536))
                with open(told, errors="replace") as file:
                    got = file.read().split("\0")[:-1]
                if len(got) >= count:
                    return got
            os.kill(child, signal.SIGKILL)
            sys.exit(f"{shell} gave no answer to: {lines[count - 2]}\n{b''.join(shown)}")

        shown = []
        os.write(terminal, f" . {start}\n".encode())
        answers(1)
        for number, line in enumerate(lines):
            # Behind the completion: to the beginning, of two lines too, for the word that it is
            # told to.
            shown = []
            os.write(terminal, line.encode() + b"\t\x01\x01tell \n")
            got = answers(number + 2)
        os.close(terminal)
        os.waitpid(child, 0)
        return got[1:]


for words in completed(sys.argv[1], sys.stdin.read().splitlines()):
    print(words)
