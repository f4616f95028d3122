"""Who holds the arrays that were made late and still live."""

import gc
import itertools
import sys
import time
import types

from gpumem_agent import referrers, survivors

MAX_NAMED = 64  # arrays whose referrers are walked at a time
PER_GROUP = 8  # of these, for each shape, when there are more
MAX_BELOW = 200000  # objects looked at below one container
NOT_BELOW = (type, types.ModuleType, types.FunctionType)  # not a container's own
CONTAINERS = 10  # growing containers named when no array explains the growth


def find(process, deadline):
    """record.Holder objects, most bytes first."""
    frameworks = _sources(process)
    arrays = survivors.arrays(frameworks)
    late = _late(arrays, process.survivors)
    holders = _Holders(deadline, process.exiting)
    holders.name(late)
    if process.exiting:
        _add_graphs(holders, arrays, late, deadline)
    on_device = any(f.active() for f in process.frameworks)
    if not on_device and process.survivors is not None:
        _add_containers(holders, process.survivors)
    return holders.listed()


def _sources(process):
    """The frameworks with a live device; without any, those with host arrays."""
    active = [f for f in process.frameworks if f.active()]
    if active:
        return active
    sources = list(process.frameworks)
    if "numpy" in sys.modules and hasattr(sys.modules["numpy"], "ndarray"):
        from gpumem_agent.frameworks.numpy import Numpy

        sources.append(Numpy(sys.modules["numpy"]))
    return sources


def _late(arrays, register):
    """One array for each storage that was made late; views add nothing."""
    late, keys = [], set()
    for array in arrays:
        if register is not None and not register.is_late(array.object):
            keys.add(array.key)
    for array in arrays:
        if array.key not in keys:
            keys.add(array.key)
            late.append(array)
    return late


class _Holders:
    """Holders by path."""

    def __init__(self, deadline, at_exit):
        self._deadline = deadline
        self._at_exit = at_exit
        self.found = {}  # path: [bytes, count]
        self.path_of = {}  # identity of a named array: its path
        self._counted = set()

    def name(self, arrays):
        """Names the holders of arrays. Some are walked up from; what else their
        containers hold is counted along; then some of the rest, in time."""
        by_identity = {id(a.object): a for a in arrays}
        left = arrays
        while left and (left is arrays or time.monotonic() < self._deadline):
            self._name_some(_representatives(left), by_identity)
            left = [a for a in left if id(a.object) not in self._counted]

    def _name_some(self, chosen, by_identity):
        walk = self.walk()
        walk.climb([a.object for a in chosen])
        paths = walk.paths()
        for array in chosen:
            path = paths.get(id(array.object))
            if path is None:
                self._count(self._nameless(array, walk.complete), array)
                continue
            self.path_of[id(array.object)] = str(path)
            self._count(str(path), array)
            if path.container is not None and len(chosen) < len(by_identity):
                self._count_below(path, by_identity)

    def _add_graphs(holders, arrays, late, deadline):
    """Adds what only autograd graphs keep, under the outputs that keep them."""
    visible = {a.key[1] for a in arrays}
    for framework in {id(a.framework): a.framework for a in late}.values():
        own = [a.object for a in late if a.framework is framework]
        outputs = [o for o in own if getattr(o, "grad_fn", None) is not None]
        for output, size, word in framework.graphs(outputs, visible, deadline):
            path = holders.path_of.get(id(output), type(output).__name__)
            holders.add("%s: autograd graph of %s outputs" % (path, word), size, 1)


def _add_containers(holders, register):
    """Names containers that gained most elements: the host's own leaks."""
    grown = [(register.growth(c), c) for c in survivors.containers()]
    grown = sorted((g for g in grown if g[0] >= survivors.LARGE), key=lambda g: -g[0])
    grown = grown[:CONTAINERS]
    walk = holders.walk()
    walk.climb([c for _, c in grown])
    paths = walk.paths()
    for count, container in grown:
        path = paths.get(id(container))
        if path is not None:
            name = "%s %s" % (type(container).__name__, path)
            holders.add(name, _estimate(container, count), count)


def _estimate(container, count):
    """Bytes of count elements, from some of them and the container itself."""
    some = list(itertools.islice(container, 100))
    mean = sum(map(sys.getsizeof, some)) / len(some)
    return int(count * (mean + sys.getsizeof(container) / len(container)))
