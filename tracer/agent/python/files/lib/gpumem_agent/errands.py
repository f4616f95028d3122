"""Work for the program's main thread, between two bytecodes of it.

What a framework has in C++ may change on the thread that uses it while another one
reads it, interpreter's lock or not. So what reads that runs on the program's own
thread: at a step where the program has steps, else as a pending call of the
interpreter. What the program's signal handlers raise meanwhile reaches the program.
A compiler that takes the frames of its thread would take ours for the program's, so
that nothing is handed over where one is in use; a debugger or a profiler that is told
of each call would be told of ours, so that nothing is done where one is at work.
"""

import sys

from gpumem_agent import imports
from gpumem_agent.own import own

COMPILER = "torch._dynamo"  # any optimizer of PyTorch loads it
BACKENDS = "cached_backends"  # of its eval_frame: one for each call of torch.compile, None for its bans
READY = "PyObject_IsTrue"  # int f(PyObject *): 0 or −1 of what is below


class Errand:
    """An object whose truth is asked for on the main thread: that does the work."""

    def __init__(self, work):
        self._work = work
        self._pid = own.getpid()
        self._is_done = False

    def __bool__(self):
        if not self._is_done and self._pid == own.getpid():
            self._is_done = True
            if sys.gettrace() is None and sys.getprofile() is None:
                self._work()
        return False


class Errands:
    """Those of one process. At most one is under way."""

    def __init__(self):
        self._last = None
        self._ask = self._ready = None  # from the first on

    def hand_over(self, work):
        """Has work called on the main thread, when that runs Python next. Returns whether
        that is possible."""
        from gpumem_agent import atomic  # of what programs that are not looked at never need

        if not atomic.POSSIBLE or _compiles():
            return False
        if self._last is not None and not self._last._is_done:
            return False
        try:
            if self._ask is None:
                native = imports.bring("gpumem_agent.native").Native()
                self._ready = native.address(READY)
                kinds = native.Pointer, native.Python
                self._ask = native.function("Py_AddPendingCall", native.Int, *kinds, is_python=True)
            self._last = Errand(work)
            return self._ask(self._ready, self._last) == 0
        except (ImportError, OSError, AttributeError, TypeError):
            return False


def _compiles():
    """Whether the program had PyTorch compile something, or may have had."""
    if COMPILER not in sys.modules:
        return False
    backends = getattr(sys.modules.get(COMPILER + ".eval_frame"), BACKENDS, None)
    return type(backends) is not dict or any(b is not None for b in list(backends.values()))
