"""Which variable keeps an autograd graph that grows, while its function runs.

A running total that is not cut from its graph keeps the graph of every step, and
the total itself is one small array, new at each step. When its function returns
it is gone. So at the end of a step, on the program's own thread, the last
operations behind the variables of that thread's functions are noted by number,
and some steps later it is asked whether the graphs behind the same variables
still reach back to before those. What a graph saved is not read: that may run
hooks of the program's (see frameworks.torch_graphs). Other threads' variables are
left alone: what is behind them may change in C++ while it is looked at.
"""

import time

from gpumem_agent import variables
from gpumem_agent.frameworks import total

STEPS = 10  # that a graph must reach back
SECONDS = 0.02  # a question may take, at most
NEVER = float("inf")


class Graphs:
    """What is known of one process."""

    def __init__(self):
        self.told = []  # of holders, the one that was found last
        self._live = None  # live bytes when the first note was made
        self._noted = {}  # {path: number of the last operation}
        self.again = NEVER  # the step from which to look

    def note(self, frameworks, step):
        """Notes the last operations. Called at the end of a step."""
        if self._live is None:
            self._live = total(f.live_bytes() for f in frameworks)
        self._noted = {path: graph.number for path, graph in _behind(frameworks)}
        self.again = step + STEPS

    def look(self, frameworks, explained):
        """Looks which of the noted graphs reach back that far. The live bytes that
        came since the first note are theirs, but those that are explained."""
        self.again = NEVER
        live = total(f.live_bytes() for f in frameworks)
        kept = 0 if None in (live, self._live) else live - self._live - explained
        deadline = time.monotonic() + SECONDS
        growing = [
            (graph.number, path, graph.word)
            for path, graph in (_behind(frameworks) if self._noted and kept > 0 else ())
            if graph.reaches_back(self._noted.get(path, graph.number), deadline)
        ]
        if growing:  # what is made from a running total reaches back as far as it
            _, path, word = min(growing)
            path = "%s: autograd graph of %s outputs" % (path, word)
            self.told = [{"path": path, "bytes": kept, "count": 1}]


def _behind(frameworks):
    """Pairs of a variable's path and the graph behind it."""
    for framework in frameworks:
        for variable, reference in variables.own(framework.kinds()):
            array = reference()
            graph = None if array is None else framework.graph(array)
            if graph is not None:
                yield variable.name, graph
