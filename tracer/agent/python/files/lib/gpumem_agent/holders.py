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
    holders = _Holders(deadline, process.exiting, _native(frameworks, arrays))
    holders.name(late)
    claimed = set()
    if process.exiting:
        claimed = _add_graphs(holders, arrays, late, deadline)
    holders.add_nameless(claimed)
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


def _native(frameworks, arrays):
    """{identity of an array: what keeps it} out of the collector's sight."""
    kept = {}
    for framework in frameworks:
        own = [a.object for a in arrays if a.framework is framework]
        kept.update(framework.kept_natively(own))
    return kept


class _Holders:
    """Holders by path."""

    def __init__(self, deadline, at_exit, native):
        self._native = native
        self._deadline = deadline
        self._at_exit = at_exit
        self.found = {}  # path: [bytes, count]
        self.path_of = {}  # identity of a counted array: its path
        self._counted = set()
        self._nameless = []  # arrays that no path leads to, and why

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
        found = [(a, paths[id(a.object)]) for a in chosen if id(a.object) in paths]
        texts = _texts([path for _, path in found])
        for array, path in found:
            self._count(texts[path], array)
        for path in {id(p.container): p for _, p in found if p.container is not None}.values():
            if len(chosen) < len(by_identity):
                self._count_below(path.container, texts[path], by_identity)
        for array in chosen:
            if id(array.object) not in paths:
                self._counted.add(id(array.object))
                self._nameless.append((array, walk.complete))

    @property
    def nameless(self):
        return [array for array, _ in self._nameless]

    def add_nameless(self, claimed):
        """Adds the arrays without a path, but those with a claimed key."""
        for array, complete in self._nameless:
            if array.key[1] not in claimed:
                self.add(self._word_for(array, complete), array.size, 1)

    def _word_for(self, array, complete):
        """What to call the holder of an array that no path leads to."""
        if id(array.object) in self._native:
            return self._native[id(array.object)]
        kind = type(array.object).__name__
        if complete:
            return "%s %s: a reference cycle or native code" % (kind, array.group)
        return "%s %s: not found in time" % (kind, array.group)

    def walk(self):
        return referrers.Walk(self._deadline, self._at_exit, {survivors.Array})

    def _count(self, path, array):
        if id(array.object) not in self._counted:
            self._counted.add(id(array.object))
            self.path_of[id(array.object)] = path
            self.add(path, array.size, 1)

    def add(self, path, size, count):
        entry = self.found.setdefault(path, [0, 0])
        entry[0] += size
        entry[1] += count

    def _count_below(self, container, path, by_identity):
        """Counts all arrays below a container under one path."""
        seen, level = set(), [container]
        while level and len(seen) < MAX_BELOW and time.monotonic() < self._deadline:
            below = gc.get_referents(*level)
            level = [r for r in below if id(r) not in seen and not issubclass(type(r), NOT_BELOW)]
            seen.update(map(id, level))
            for item in level:
                array = by_identity.get(id(item))
                if array is not None:
                    self._count(path, array)

    def listed(self):
        entries = [
            {"path": path, "bytes": size, "count": count}
            for path, (size, count) in self.found.items()
        ]
        return sorted(entries, key=lambda e: (-e["bytes"], -e["count"], e["path"]))


def _representatives(arrays):
    """All arrays when they are few; else some of each group, those groups
    first that hold most."""
    if len(arrays) <= MAX_NAMED:
        return list(arrays)
    groups = {}
    for array in arrays:
        groups.setdefault(array.group, []).append(array)
    ordered = sorted(groups.values(), key=lambda g: -sum(a.size for a in g))
    share = max(PER_GROUP, MAX_NAMED // len(ordered))
    chosen = [a for group in ordered for a in group[-share:]]
    return chosen[:MAX_NAMED]


def _texts(paths):
    """{path: text}. Where elements of one container differ in their further
    steps, the container's name stands for all of them."""
    by_container = {}
    for path in paths:
        by_container.setdefault(id(path.container), set()).add(str(path))
    texts = {}
    for path in paths:
        mixed = path.container is not None and len(by_container[id(path.container)]) > 1
        texts[path] = path.of_container() if mixed else str(path)
    return texts


def _add_graphs(holders, arrays, late, deadline):
    """Adds what only autograd graphs keep, under the outputs that keep them.
    Returns the keys of the storages that are charged with it."""
    nameless = {a.key for a in holders.nameless}
    visible = {a.key[1] for a in arrays if a.key not in nameless}
    before = set(visible)
    for framework in {id(a.framework): a.framework for a in late}.values():
        own = [a.object for a in late if a.framework is framework]
        outputs = [o for o in own if getattr(o, "grad_fn", None) is not None]
        # Outputs with a name first: what they keep is theirs.
        outputs.sort(key=lambda o: id(o) not in holders.path_of)
        for output, size, word in framework.graphs(outputs, visible, deadline):
            path = holders.path_of.get(id(output), type(output).__name__)
            holders.add("%s: autograd graph of %s outputs" % (path, word), size, 1)
    return visible - before


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
