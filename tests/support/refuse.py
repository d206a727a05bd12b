"""Runs a command under a seccomp filter that refuses one system call, as old kernels and the
filters of containers do:  refuse.py CALL ERRNO COMMAND [ARG ...]
With after-5.10 for CALL, all that Linux 5.10 does not have (but for what calls that it has can do now)."""
import ctypes
import errno
import os
import struct
import sys

# Calls since Linux 5.1 have one number on all machines.
NUMBERS = {"clone3": 435, "mount_setattr": 442}
LATEST = {"after-5.10": 440}
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000

# Of the instructions of BPF, both skip what refuses it where they do not hold: equal, or greater.
jump, number = (0x25, LATEST[sys.argv[1]]) if sys.argv[1] in LATEST else (0x15, NUMBERS[sys.argv[1]])
reason = getattr(errno, sys.argv[2])
program = b"".join(struct.pack("HBBI", *instruction) for instruction in (
    (0x20, 0, 0, 0),                # load the number of the call
    (jump, 0, 1, number),           # another one: skip
    (0x06, 0, 0, ERRNO | reason),
    (0x06, 0, 0, ALLOW)))
text = ctypes.create_string_buffer(program)


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


libc = ctypes.CDLL(None, use_errno=True)
rules = Filter(len(program) // 8, ctypes.addressof(text))
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
        libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(rules), 0, 0) != 0:
    sys.exit("refuse.py: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[3], sys.argv[3:])
