"""Runs something on the main thread once the C call that is under way is over.

From 3.13 on the interpreter counts its process's threads after the handlers of
a fork have run, and warns the program when there are several. So a handler
cannot start a thread again; a pending call of the interpreter can, when it is
made after the fork has returned.
"""

import sys

from gpumem_agent.native import Native


class Later:
    """One pending call, used again and again."""

    def __init__(self, work):
        """work is called without arguments and must not raise."""
        self._work = work
        self._frame = self._at = None
        self._callback, self._add = _pending_call(self._run)

    def call(self, frame):
        """Calls work after the call that frame is executing has returned."""
        self._frame, self._at = frame, frame.f_lasti
        self._add(self._callback, None)

    def retire(self):
        """The end: a call that waits will do nothing. Returns whether one does, for
        which the caller then keeps this object."""
        waits = self._frame is not None
        self._frame = self._at = self._work = None
        return waits

    def _run(self, _):
        if self._frame is None:
            return 0
        if self._is_inside():
            self._add(self._callback, None)
            return 0
        self._frame = None
        self._work()
        return 0

    def _is_inside(self):
        """Whether the frame is still executing the same call."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame is self._frame:
                return frame.f_lasti == self._at
            frame = frame.f_back
        return False


def _pending_call(function):
    """(a C function that calls a Python function, Py_AddPendingCall)."""
    native = Native()
    callback = native.prototype(native.Int, native.Pointer, is_python=True)
    arguments = (callback, native.Pointer)
    add = native.function("Py_AddPendingCall", native.Int, *arguments, is_python=True)
    return callback(function), add
