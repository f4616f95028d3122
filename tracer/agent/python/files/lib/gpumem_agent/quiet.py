"""Keeps the agent's trouble from the program."""


class Quiet:
    """Swallows what the agent raises; lets pass what is the program's."""

    def __init__(self, process):
        self._process = process

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None and issubclass(kind, Exception) and self.swallows(error)

    def swallows(self, error):
        """Takes an exception of the agent's; says whether it was one."""
        if _by_signal(error.__traceback__):
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
