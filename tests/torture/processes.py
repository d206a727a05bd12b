"""The processes below this one, which adopts what loses its parent: found, stopped as one,
killed. So nothing gets away, and no other process of the machine has to be looked at."""
import ctypes
import glob
import os
import signal
import time

PR_SET_CHILD_SUBREAPER = 36


def adopt():
    """From now on orphans below this process become its children."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as file:
                found += map(int, file.read().split())
        except OSError:
            pass
    return found


def family(root):
    """It and all below it, parents first."""
    found = [root]
    for pid in found:
        found += children(pid)
    return found


def of(pid, name):
    """What /proc says of a process, or nothing."""
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read().replace("\0", " ").strip()
    except OSError:
        return ""


def state(pid):
    return of(pid, "stat").rpartition(")")[2].split()[:1] or ["X"]


def signal_quietly(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def reap(spared):
    """Buries adopted children that have died."""
    for pid in children("self"):
        if pid != spared and state(pid) == ["Z"]:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def adopted(spared=None):
    """What lives below this process, but for a child that it has started itself."""
    reap(spared)
    return [pid for pid in family(os.getpid())[1:] if pid != spared and state(pid)[0] not in "ZX"]


def freeze(root):
    """Stops it, all below it and all that was adopted, so that they die as one. The root
    comes last: those who lose their parent while they are stopped would be woken."""
    stopped, quiet = [], 0
    while quiet < 2:
        new = [pid for pid in family(os.getpid())[1:] if pid not in stopped]
        for pid in new:
            signal_quietly(pid, signal.SIGSTOP)
        stopped += new
        # D: one that waits for a child which was stopped between vfork() and exec.
        still = all(state(pid)[0] in "TtZXD" for pid in stopped)
        quiet = quiet + 1 if still and not new else 0
    return sorted(stopped, key=lambda pid: pid == root)


def kill(pids):
    for pid in pids:
        signal_quietly(pid, signal.SIGKILL)
    end = time.monotonic() + 20
    while any(state(pid)[0] not in "ZX" for pid in pids):
        assert time.monotonic() < end, "it does not die"
        time.sleep(0.001)
