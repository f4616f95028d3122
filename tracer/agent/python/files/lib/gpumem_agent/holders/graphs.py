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

from gpumem_agent.frameworks import total
from gpumem_agent.holders import variables
from gpumem_agent.own import own

STEPS = 10  # that a graph must reach back
SECONDS = 0.02  # of the processor's time that a question may take, at most
HEAP_BYTES = 1 << 20  # that the heap must have gained to be a graph's
NEVER = float("inf")


class Graphs:
    """What is known of one process."""

    def __init__(self):
        self.told = []  # of holders, the one that was found last
        self._live = self._heap = None  # bytes when a graph was noted first
        self._noted = {}  # {path: number of the last operation}
        self._first = {}  # likewise, when the path was noted first
        self.again = NEVER  # the step from which to look

    def note(self, frameworks, step, heap=None):
        """Notes the last operations. Called at the end of a step."""
        if not self._first:
            self._live, self._heap = _live(frameworks), heap
        self._noted = {path: graph.number for path, graph in _behind(frameworks)}
        self._first = {**self._noted, **self._first}
        self.again = step + STEPS

    def look(self, frameworks, explained, heap=None):
        """Looks which of the noted graphs reach back that far. The bytes that came
        since the first note are theirs: live ones, but those that are explained, or
        the heap's where a graph noted twice reaches back to its first note. Its
        operations are on the heap, and may be all that it keeps."""
        self.again = NEVER
        live = _live(frameworks)
        kept = max(0, _gain(live, self._live) - explained[0])
        of_heap = _gain(heap, self._heap) - explained[1]
        of_heap = of_heap if of_heap >= HEAP_BYTES else 0
        deadline = own.thread_time() + SECONDS
        growing = []
        for path, graph in _behind(frameworks) if self._noted and kept + of_heap else ():
            noted = self._noted.get(path, graph.number)
            if graph.number <= noted:
                continue  # the output is still the same
            first = self._first.get(path, noted) if of_heap else noted
            oldest = graph.oldest(first, deadline)
            if oldest > noted:
                continue  # it does not reach back
            late = own.thread_time() >= deadline  # to find where a long one begins
            is_deep = first < noted and (oldest <= first or late)
            size = max(kept, of_heap if is_deep else 0)
            if size:
                growing.append((graph.number, path, graph.word, size))
        if growing:  # what is made from a running total reaches back as far as it
            _, path, word, size = min(growing)
            path = "%s: autograd graph of %s outputs" % (path, word)
            on_host = {"host": True} if live is not None and size > kept else {}
            self.told = [{"path": path, "bytes": size, "count": 1, **on_host}]


def _live(frameworks):
    return total(f.live_bytes() for f in frameworks)


def _gain(now, before):
    return 0 if None in (now, before) else now - before


def _behind(frameworks):
    """Pairs of a variable's path and the graph behind it."""
    for framework in frameworks:
        for variable, reference in variables.own(framework.kinds()):
            array = framework.alive(reference)
            graph = None if array is None else framework.graph(array)
            if graph is not None:
                yield variable.name, graph
