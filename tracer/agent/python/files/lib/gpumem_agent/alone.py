"""Calls that the kernel grants to processes of one thread only.

unshare and setns refuse user namespaces, and setns mount namespaces, while there
is a second thread. So our thread is stopped around them. No audit event tells of
these calls, so they are wrapped: in os, from 3.12 on, and as functions of a library
that is opened by ctypes.
"""

import os

NAMES = ("unshare", "setns", "syscall")
NUMBERS = {  # of unshare and setns, as syscall takes them
    "x86_64": (272, 308),
    "aarch64": (97, 268),
    "riscv64": (97, 268),
    "ppc64le": (282, 350),
    "s390x": (303, 339),
}


SECONDS = 2.0  # such a call waits no longer for our thread


class Alone:
    """A context in which our thread does not run."""

    def __init__(self, process):
        self._process = process
        self._slept = False

    def __enter__(self):
        with self._process.quiet():
            self._slept = self._process.forks.sleep(SECONDS)

    def __exit__(self, *_):
        if self._slept:
            self._process.forks.wake()


def wrap_os(process):
    """Wraps the functions of os, where it has them. Returns what undoes that."""
    wrapped = {}
    for name in NAMES[:2]:
        function = getattr(os, name, None)
        if function is not None:
            wrapped[name] = function, _wrapped(process, function)
            setattr(os, name, wrapped[name][1])

    def undo():
        for name, (function, ours) in wrapped.items():
            if getattr(os, name, None) is ours:
                setattr(os, name, function)

    return undo


def wrap_ctypes(process, ctypes):
    """Wraps these functions whenever they are looked up in a library. Returns what
    undoes that; functions that were looked up already stay as they are."""
    look_up = ctypes.CDLL.__getitem__

    def __getitem__(self, name_or_ordinal):
        function = look_up(self, name_or_ordinal)
        if name_or_ordinal in NAMES:
            with process.quiet():
                return _foreign(process, self, function, name_or_ordinal)
        return function

    ctypes.CDLL.__getitem__ = __getitem__

    def undo():
        if ctypes.CDLL.__getitem__ is __getitem__:
            ctypes.CDLL.__getitem__ = look_up

    return undo


def _wrapped(process, function):
    def alone(*args, **keywords):
        if process.exiting:
            return function(*args, **keywords)
        with Alone(process):
            return function(*args, **keywords)

    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(alone, name, getattr(function, name, None))
    alone.__wrapped__ = function
    return alone


def _foreign(process, library, function, name):
    """The same function of a library, of a type that is derived from its own."""
    kind = type(function)

    def __call__(self, *args, **keywords):
        if process.exiting or name == "syscall" and not _is_named(args):
            return kind.__call__(self, *args, **keywords)
        with Alone(process):
            return kind.__call__(self, *args, **keywords)

    members = {"__call__": __call__, "_flags_": kind._flags_, "_restype_": kind._restype_}
    made = type(kind.__name__, (kind,), members)((name, library))
    made.__name__ = name
    return made


def _is_named(args):
    """Whether the arguments of syscall name one of these calls."""
    number = getattr(args[0], "value", args[0]) if args else None
    return number in NUMBERS.get(os.uname().machine, ())
