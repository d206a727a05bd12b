"""Hundreds of model calls at the same time, beside the AI SDK for Node where $PEERS_NODE_MODULES has
it, and of commands, beside xargs(1): python3 breadth.py SERVER SDK-SCRIPT WORK. Prints a row for each
size: time, processor time of all processes, the most memory (PSS, sampled in a round of its own), the
most requests that were at the server at the same time. BENCH_ROUNDS (3): medians of so many."""
import collections
import json
import os
import resource
import statistics
import subprocess
import sys
import time

SERVER, SCRIPT, WORK = sys.argv[1:4]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
PEERS = os.environ.get("PEERS_NODE_MODULES", "")
# calls, at once, seconds of each; at most so many times of the peer: time, processor time, memory
SIZES = [(32, 32, 2, (0.90, 0.40, 0.40)), (200, 200, 2, (0.90, 0.90, 0.45)),
         (500, 500, 2, (1.00, 1.20, 0.55)), (2000, 1000, 2, (0.90, 1.00, 0.55)),
         (2000, 32, 0.05, (0.65, 0.35, 0.25))]


def memory(root):
    """MiB of all processes below one."""
    children = collections.defaultdict(list)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                children[int(file.read().rsplit(")", 1)[1].split()[1])].append(int(pid))
        except OSError:
            continue
    waiting, total = [root], 0
    while waiting:
        pid = waiting.pop()
        waiting += children[pid]
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            continue
    return total / 1024


def measure(command, environment, lines, log, sampled):
    """(seconds, processor seconds, MiB, most at once) of a command that reads lines, and prints as many."""
    with open(f"{WORK}/in", "w") as file:
        file.write("".join(f"{line}\n" for line in lines))
    begin = os.path.getsize(log) if log else 0
    before, began, most = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), 0
    with open(f"{WORK}/in") as given, open(f"{WORK}/out", "w") as out, open(f"{WORK}/err", "w") as err:
        process = subprocess.Popen(command, env=environment, stdin=given, stdout=out, stderr=err)
        while process.poll() is None:
            most = max(most, memory(process.pid)) if sampled else 0
            time.sleep(0.2 if sampled else 0.002)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(f"{WORK}/out") as out:
        done = sum(1 for _ in out)
    if process.returncode != 0 or (log and done != len(lines)):
        sys.exit(f"breadth.py: {command[0]}: status {process.returncode}, {done} of {len(lines)} lines: "
                 + open(f"{WORK}/err").read()[-300:])
    at_once = 0
    if log:
        with open(log) as file:
            file.seek(begin)
            at_once = max(json.loads(line)["at_once"] for line in file)
    return (wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, most, at_once)


def figures(commands, environment, lines, log):
    """Of each command, taken in turn."""
    rounds = [[measure(command, environment, lines, log, False) for command in commands] for _ in range(ROUNDS)]
    sampled = [measure(command, environment, lines, log, True) for command in commands]
    return [[statistics.median(one[i][figure] for one in rounds) for figure in (0, 1)] +
            [sampled[i][2], max(one[i][3] for one in rounds)] for i in range(len(commands))]


def shown(figure):
    text = f"{figure[0]:.2f} s, {figure[1]:.2f} s of processor time, {figure[2]:.0f} MiB"
    return text + (f", {figure[3]} at once" if figure[3] else "")


def compared(ours, peer):
    return " (" + ", ".join(f"{one / other:.2f}" for one, other in zip(ours[:3], peer[:3])) + " x)"


def main():
    log = f"{WORK}/log"
    server = subprocess.Popen(["python3", "-S", SERVER, f"{WORK}/port", log])
    try:
        while not os.path.exists(f"{WORK}/port"):
            time.sleep(0.02)
        base = f"http://127.0.0.1:{open(f'{WORK}/port').read()}/v1"
        environment = dict(os.environ, OPENAI_BASE_URL=base, OPENAI_API_KEY="k")
        for calls, at_once, wait, limits in SIZES:
            commands = [["awf-run", "--", "awf-step", "-r", "-i", "lines", "-j", str(at_once), "-m", "openai/m",
                         "-p", "{{data}}", "ask"]]
            if PEERS:
                commands.append(["node", SCRIPT, str(at_once), base])
            found = figures(commands, environment, [f"{n} wait:{wait}" for n in range(calls)], log)
            print(f"{calls} model calls of {wait} s, {at_once} at once | {shown(found[0])} | " +
                  (f"AI SDK: {shown(found[1])}{compared(*found)}" if PEERS else "AI SDK: not here") +
                  f" | at most {', '.join(f'{limit:.2f}' for limit in limits)} x", flush=True)
        found = figures([["awf-run", "--", "awf-step", "-r", "-q", "-i", "lines", "-j", "500", "sleep", "--", "sh", "-c",
                          "exec sleep 2"], ["xargs", "-P", "500", "-I", "{}", "sh", "-c", "exec sleep 2"]],
                        environment, [str(n) for n in range(500)], None)
        print(f"500 commands of 2 s at once | {shown(found[0])} | xargs -P 500: {shown(found[1])}{compared(*found)} | "
              "at most 1.35 x, 1.55 x", flush=True)
    finally:
        server.kill()


main()
