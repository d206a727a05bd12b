"""The states that a power cut may leave of a disk, rebuilt from the log that powercut.c
keeps of its names, writes and syncs.

crash_storage.py tells the model of names. Of the bytes of a file those are safe that had
been written when it was last synced; of what was written or cut off since, the first few
are there, or any, each whole or as zeros, or none.
"""
import collections
import os
import shutil

from crash_storage import connected


class File:
    """The bytes of one: those that are safe, and what was done since."""

    def __init__(self, content=b""):
        self.safe, self.since = bytearray(content), []

    def sync(self, size):
        del size  # what was written while it was being synced is safe in no model
        self.safe, self.since = self.now(self.since), []

    def now(self, done):
        content = bytearray(self.safe)
        for what, at, data in done:
            if what == "shrink":
                del content[at:]
                continue
            if len(content) < at:
                content.extend(bytes(at - len(content)))
            content[at:at + len(data)] = data
        return content

    def left(self, random):
        """(bytes, how): one of the states that may be found."""
        if not self.since:
            return self.safe, "safe"
        how = random.choice(("all", "none", "first", "first", "torn", "zeros", "holes"))
        if how == "all":
            return self.now(self.since), how
        count = random.randint(0, len(self.since) - 1)
        if how == "none":
            return self.safe, how
        if how == "holes":
            done = [entry if entry[0] == "shrink" or random.random() < 0.5 else
                    ("write", entry[1], bytes(len(entry[2]))) for entry in self.since]
            return self.now(done), how
        kept, (what, at, data) = self.since[:count], self.since[count]
        if what == "write" and how == "torn":
            kept = kept + [("write", at, data[:random.randint(0, len(data))])]
        if what == "write" and how == "zeros":
            whole = random.randint(0, len(data))
            kept = kept + [("write", at, data[:whole] + bytes(random.randint(0, 4096)))]
        return self.now(kept), how


class Log:
    """What happened, in order: lists of fields."""

    def __init__(self, path):
        self.done = []
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                self.done.append(line.rstrip("\n").split("\t"))


class Disk:
    """The disk after the first so many entries of a log, below a directory; outside, a
    directory in it, loses nothing."""

    def __init__(self, directory, outside, log, count):
        self.directory, self.outside = directory, outside
        self.files, self.names, self.pending = {}, [], {}
        self.ledgers = collections.defaultdict(bytearray)
        self.passed, self.asked = [], []
        for what, *fields in log.done[:count]:
            getattr(self, f"do_{what}")(what, *fields)

    # Entries of the log.

    def name(self, what, *fields):
        entry = (what, fields)
        self.names.append(entry)
        directory = os.path.dirname(fields[1] if what == "rename" else fields[0])
        self.pending.setdefault(directory, []).append(entry)

    do_mkdir = do_symlink = do_unlink = do_rename = do_link = name

    def do_unnamed(self, _, inode):
        self.files[inode] = File()

    def do_create(self, what, path, inode):
        self.files[inode] = File()
        self.name(what, path, inode)

    def do_write(self, _, path, inode, at, data):
        data = bytes.fromhex(data)
        if path.startswith(self.outside):
            self.ledgers[os.path.basename(path)] += data
        else:
            self.files.setdefault(inode, File()).since.append(("write", int(at), data))

    def do_shrink(self, _, inode, size, __):
        self.files.setdefault(inode, File()).since.append(("shrink", int(size), b""))

    def do_synced(self, _, inode, size):
        self.files.setdefault(inode, File()).sync(int(size))

    def do_syncdir(self, _, path):
        self.pending.pop(path, None)

    def do_passed(self, _, event):
        self.passed.append(event)

    def do_asked(self, _, request):
        self.asked.append(request)

    # What is left.

    def tree(self, undone):
        """{path: inode, or None of a directory}"""
        tree = {}
        for entry in self.names:
            what, fields = entry
            if any(entry is other for other in undone):
                continue
            if what in ("create", "link"):
                tree[fields[0]] = fields[1]
            elif what == "mkdir":
                tree[fields[0]] = None
            elif what == "unlink":
                tree.pop(fields[0], None)
            elif what == "rename":
                self.move(tree, fields[0], fields[1])
        return tree

    @staticmethod
    def move(tree, old, new):
        for path in [path for path in tree if path == old or path.startswith(old + "/")]:
            tree[new + path[len(old):]] = tree.pop(path)

    def lose(self, random):
        """A state: {path: bytes, or None of a directory}, and what was lost in it."""
        undone, told = [], []
        for done in self.pending.values():
            for group in connected(done):
                lost = group[random.randint(0, len(group)):] if random.random() < 0.5 else []
                undone += lost
                told += [f"undone: {what} {' '.join(fields[:2])}" for what, fields in lost]
        found, tree = {}, self.tree(undone)
        for path, inode in sorted(tree.items()):
            if not self.reachable(tree, path):
                continue
            if inode is None:
                found[path] = None
                continue
            content, how = self.files[inode].left(random)
            found[path] = bytes(content)
            if how not in ("safe", "all"):
                told.append(f"{path}: {how}, {len(content)} bytes, "
                            f"{len(self.files[inode].safe)} were safe")
        return found, told

    def reachable(self, tree, path):
        above = os.path.dirname(path)
        while above != self.directory:
            if above not in tree:
                return False
            above = os.path.dirname(above)
        return True

    def whole(self):
        """The state that nothing was lost in."""
        tree = self.tree([])
        return {path: None if inode is None else bytes(self.files[inode].now(
            self.files[inode].since)) for path, inode in tree.items()
            if self.reachable(tree, path)}


def lay_out(state, directory, there):
    """Writes a state of a directory to another place."""
    for path, content in sorted(state.items()):
        place = there + path[len(directory):]
        if content is None:
            os.mkdir(place, 0o700)
            continue
        with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)


def forget_runs(state, storage):
    """runs/ID coordinates the living: it may be gone, too."""
    return {path: content for path, content in state.items()
            if not path.startswith(f"{storage}/runs/")}


def remove(directory):
    shutil.rmtree(directory, ignore_errors=True)
