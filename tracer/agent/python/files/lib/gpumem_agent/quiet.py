"""Keeps the agent's trouble from the program."""

import os

FOLDER = os.path.dirname(__file__) + os.sep


class Quiet:
    """Swallows what the agent raises; lets pass what is the program's."""

    def __init__(self, process):
        self._process = process

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None and self.swallows(error)

    def swallows(self, error):
        """Takes an exception of the agent's; says whether it was one."""
        trace = error.__traceback__
        if isinstance(error, SystemExit):  # the program's right, but no file's of ours
            is_ours = _by_import(trace)
        else:
            is_ours = isinstance(error, Exception)
        if not is_ours or _by_signal(trace):
            return False
        self._process.failed(error)
        return True


def _by_signal(trace):
    """Whether an exception came out of a signal handler of the program, which
    the interpreter happened to run while the agent's code was running."""
    if trace is None:
        return False
    import _signal

    handlers = map(_signal.getsignal, _signal.valid_signals())
    codes = {getattr(h, "__code__", None) for h in handlers} - {None}
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _by_import(trace):
    """Whether an exception came out of a module of the agent's that was being
    imported."""
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(FOLDER):
            return True
        trace = trace.tb_next
    return False
