"""A power cut, simulated: puts a disk back into a state that the disk may be found in.

The model, from the books that powercut.c keeps:

- The bytes of a file are safe up to its size at its last fsync() or fdatasync(). Of what
  was appended since, any part may be lost from the end; of a transcript any part of the
  end may also read as zeros. Bytes are not lost from the middle.
- A shortening that was not synced may be undone; what was appended since is lost then.
- A new name, a new directory, a rename and an unlink are safe when the directory has
  been synced since. Until then each may be undone: a new name is gone, a renamed file
  has its old name and the old file is back. Syncing a file does not save its name.
- What was done to one name, or to names that renames connect, is undone from the last
  backwards. What was done to other names is kept or lost independently.
- runs/ID, which coordinates the living, may be there or not.

What is outside of it (ledgers, the model server) remembers everything.
"""
import glob
import os
import shutil


class Books:
    def __init__(self, log, safe):
        self.pending = {}   # directory: what was done in it since it was synced
        self.synced = {**safe}  # inode: size
        self.shrunk = {}    # inode: [(size, what was behind it)]
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                for line in file:
                    self.enter(*line.rstrip("\n").split("\t"))

    def enter(self, what, *fields):
        if what == "syncdir":
            self.pending.pop(fields[0], None)
        elif what == "synced":
            self.synced[int(fields[0])] = max(int(fields[1]), self.synced.get(int(fields[0]), 0))
            self.shrunk.pop(int(fields[0]), None)
        elif what == "shrink":
            inode, size = int(fields[0]), int(fields[1])
            self.synced[inode] = min(self.synced.get(inode, 0), size)
            self.shrunk.setdefault(inode, []).append((size, fields[2]))
        elif what == "unnamed":
            self.synced.pop(int(fields[0]), None)
            self.shrunk.pop(int(fields[0]), None)
        elif what not in ("write", "passed"):
            name = fields[1] if what == "rename" else fields[0]
            self.pending.setdefault(os.path.dirname(name), []).append((what, fields))
            if what == "create":
                self.synced.pop(int(fields[1]), None)
                self.shrunk.pop(int(fields[1]), None)


def connected(done):
    """Splits what was done in a directory by the names it was done to."""
    groups = []  # (names, [what was done])
    for what, fields in done:
        names = set(fields[:2] if what == "rename" else fields[:1])
        mine = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        groups.append((names.union(*(group[0] for group in mine)),
                       sum((group[1] for group in mine), []) + [(what, fields)]))
    return [group[1] for group in groups]


def restore(name, kept):
    if not os.path.isdir(os.path.dirname(name)):
        return  # its directory is gone, and so is it
    if os.path.islink(kept):
        if os.path.lexists(name):
            os.unlink(name)
        os.symlink(os.readlink(kept), name)
    elif kept != "-":
        shutil.copyfile(kept, name)
        os.chmod(name, 0o600)


def undo(what, fields):
    name = fields[0]
    if what == "rename":
        if os.path.lexists(fields[1]):
            os.rename(fields[1], name)
        restore(fields[1], fields[2])
    elif what == "unlink":
        restore(name, fields[1])
    elif what == "mkdir":
        shutil.rmtree(name, ignore_errors=True)
    elif os.path.lexists(name):
        os.unlink(name)


def lose_bytes(path, books, random, zeros):
    """Cuts off what was not synced, or some of it. What it did."""
    inode, size = os.stat(path).st_ino, os.path.getsize(path)
    safe = books.synced.get(inode, 0)
    shrunk = books.shrunk.get(inode)
    if shrunk and random.random() < 0.5:
        at, kept = shrunk[0]
        with open(kept, "rb") as tail, open(path, "r+b") as file:
            file.seek(at)
            file.truncate()
            file.write(tail.read())
        return f"{path}: shortening to {at} undone"
    if size <= safe:
        return None
    cut = random.choice((safe, random.randint(safe, size), random.randint(safe, size)))
    end = random.randint(cut, size) if zeros and random.random() < 0.3 else cut
    os.truncate(path, cut)
    os.truncate(path, end)
    return f"{path}: {size} bytes, {safe} safe, {cut} kept, {end - cut} zeros"


def files(directory):
    for at, _, names in os.walk(directory):
        for name in sorted(names):
            if not os.path.islink(os.path.join(at, name)):
                yield os.path.join(at, name)


class Disk:
    """A directory, storage in it, that forgets. Before each attempt: begin()."""

    def __init__(self, disk, directory):
        self.disk, self.directory = disk, directory
        self.log = os.path.join(directory, "log")
        self.safe = {}  # what the cuts before left is safe: {inode: size}

    def environment(self, library):
        return {"LD_PRELOAD": library, "CUT_DISK": self.disk, "CUT_LOG": self.log,
                "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}

    def begin(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.directory)
        self.safe = {os.stat(path).st_ino: os.path.getsize(path) for path in files(self.disk)}

    def cut(self, random):
        """What a power cut at this moment leaves. What it did, a list of lines."""
        books, told = Books(self.log, self.safe), []
        for done in books.pending.values():
            for group in connected(done):
                for what, fields in reversed(group[random.randint(0, len(group)):]):
                    undo(what, fields)
                    told.append(f"undone: {what} {' '.join(fields)}")
        for path in files(self.disk):
            if not path.startswith(f"{self.disk}/storage/runs/"):
                told.append(lose_bytes(path, books, random, "/transcripts/" in path))
        if random.random() < 0.5:
            for name in glob.glob(f"{self.disk}/storage/runs/*"):
                shutil.rmtree(name)
        return [line for line in told if line]
