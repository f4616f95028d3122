"""What a traced program may tell the tracer. Nothing here does anything, and
nothing costs more than a call, when no tracer runs.

    import gpumem

    for batch in data:
        train(batch)
        gpumem.step()

gpumem.baseline() before and gpumem.released() after a stretch of work that
should leave nothing behind make the tracer judge what it left.
"""

import contextlib
import sys

from gpumem_agent import agent as _agent

__all__ = ["step", "mark", "phase", "scope", "baseline", "released"]


def step(number=None):
    """One step of the program's work is done. Without a number it counts."""
    agent = _agent()
    if agent is not None:
        agent.step(number)


def mark(name, kind="event"):
    """Notes a moment under a name, with the caller's place in the source."""
    agent = _agent()
    if agent is not None:
        agent.mark(kind, str(name), at=_caller())


def phase(name):
    """A phase begins: baseline, released, or a word of the program's own."""
    agent = _agent()
    if agent is not None:
        agent.phase(str(name))


def baseline():
    """From here on, what is kept counts."""
    phase("baseline")


def released():
    """The program has given up everything since baseline()."""
    phase("released")


@contextlib.contextmanager
def scope(name):
    """Notes the beginning and the end of a stretch of the program."""
    mark("begin " + str(name), kind="scope")
    try:
        yield
    finally:
        mark("end " + str(name), kind="scope")


def _caller():
    frame = sys._getframe(2)
    return "%s:%d:1" % (frame.f_code.co_filename, frame.f_lineno)
