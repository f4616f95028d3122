"""Runs something on the main thread once the C call that is under way is over.

From 3.13 on the interpreter counts its process's threads after the handlers of
a fork have run, and warns the program when there are several. So a handler
cannot start a thread again; a pending call of the interpreter can, when it is
made after the fork has returned.
"""

import sys


class Later:
    """One pending call, used again and again."""

    def __init__(self, work):
        """work is called without arguments and must not raise."""
        import ctypes

        self._work = work
        self._frame = self._at = None
        self._callback = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._run)
        self._add = ctypes.pythonapi.Py_AddPendingCall
        self._add.argtypes = [type(self._callback), ctypes.c_void_p]

    def call(self, frame):
        """Calls work after the call that frame is executing has returned."""
        self._frame, self._at = frame, frame.f_lasti
        self._add(self._callback, None)

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
