"""The frames of the threads that run, where asking for them does no harm.

sys._current_frames makes frame objects for the threads of all interpreters of the
process, in the memory of the one that asks. From 3.12 on an interpreter may have memory
of its own: when its function returns it frees the frame object there, and the process
aborts (seen with 3.12.1, 3.13.5 and 3.14.3). So where there is another interpreter,
nobody's frames are known.
"""

import sys

OWN_MEMORY = (3, 12)  # the version from which on interpreters may have it

# Modules by which a program makes interpreters, where C functions cannot be called.
MAKERS = {"_interpreters", "_xxsubinterpreters"}

_ends = []  # functions of C: the newest interpreter, and the first


def teller():
    """The function of C that tells {identity of a thread: its frame} of all threads; one
    that tells of none where that is unsafe. The caller calls it, at once: a function here
    that did would be among the frames."""
    return sys._current_frames if sys.version_info < OWN_MEMORY or alone() else dict


def alone():
    """Whether the process has one interpreter only, as far as can be told."""
    if not _ends:
        try:
            from gpumem_agent.native import Native

            native = Native()
            names = ("PyInterpreterState_Head", "PyInterpreterState_Main")
            _ends.extend(native.function(n, native.Pointer, is_python=True) for n in names)
        except (ImportError, OSError):
            return MAKERS.isdisjoint(sys.modules)
    newest, first = _ends
    return newest() == first()
