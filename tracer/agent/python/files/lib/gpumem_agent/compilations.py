"""Which lines of the program have code compiled again and again."""

AGAIN = 1.25  # times as many compilations of a line as when it was told last
MOST_LINES = 1000  # that are counted


class Compilations:
    """Those of one framework. A framework that keeps what calls this keeps no process: a look
    that follows it must not come to what the agent itself has."""

    def __init__(self, process, by):
        self._process = process  # a weak reference
        self._by = by  # the framework's name for what compiles
        self._lines = {}  # (file, line, function) of the program: [compilations, told]

    def count(self, frame):
        """Counts one for the line of the program's that asked for it, on a library's frame that
        was called for it, and tells that line when it is one of many."""
        process = self._process()
        if process is not None:
            with process.quiet():
                self._count(process, frame)

    def _count(self, process, frame):
        from gpumem_agent.holders.kinds import is_library

        while frame is not None and is_library(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None or len(self._lines) >= MOST_LINES:
            return
        line = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        counts = self._lines.setdefault(line, [0, 0])
        counts[0] += 1
        if counts[0] > AGAIN * counts[1]:
            counts[1] = counts[0]
            detail = {"count": counts[0], "by": self._by}
            process.mark("event", "compiled", "%s:%d %s" % line, detail)

    def clear(self):
        """Begins anew."""
        self._lines.clear()

    def stop(self):
        """Counts no more."""
        self._process = _nobody


def _nobody():
    return None
