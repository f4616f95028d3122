"""Who holds the arrays that were made late and still live."""

import gc
import itertools
import sys
import types

from gpumem_agent import atomic, referrers, survivors
from gpumem_agent.kinds import is_a
from gpumem_agent.own import own
from gpumem_agent.paths import Name

MAX_NAMED = 64  # arrays whose referrers are walked at a time
PER_GROUP = 8  # of these, for each shape, when there are more
MAX_BELOW = 200000  # objects looked at below one container
NOT_BELOW = (type, types.ModuleType, types.FunctionType)  # not a container's own
CONTAINERS = 10  # growing containers named when no array explains the growth


def find(process, deadline):
    """record.Holder objects, most bytes first, of a program that has come to
    its end and stands still."""
    frameworks = sources(process)
    arrays = survivors.arrays(frameworks)
    recent = late(arrays, process.survivors)
    holders = Holders(deadline, _Upwards(deadline))
    holders.name(recent)
    holders.native = _native(frameworks, arrays, holders.nameless)
    claimed = _add_graphs(holders, arrays, recent, deadline)
    holders.add_nameless(claimed)
    on_device = any(f.active() for f in process.frameworks)
    if not on_device and process.survivors is not None:
        _add_containers(holders, process.survivors, deadline)
    return holders.listed()


def with_gone(found, told):
    """What was found at the end, and what was told while the program ran and
    has been given up since; most bytes first."""
    left = {entry["path"] for entry in found}
    lost = [entry for entry in told if entry["path"] not in left]
    lost = [dict(entry, path=entry["path"] + " (gone at the end)") for entry in lost]
    return sorted(found + lost, key=lambda entry: -entry["bytes"])


def sources(process):
    """The frameworks with a live device; without any, those with host arrays."""
    active = [f for f in process.frameworks if f.active()]
    if active:
        return active
    sources = list(process.frameworks)
    if "numpy" in sys.modules and hasattr(sys.modules["numpy"], "ndarray"):
        from gpumem_agent.frameworks.numpy import Numpy

        sources.append(Numpy(sys.modules["numpy"]))
    return sources


def late(arrays, register):
    """One array for each storage that was made late; views add nothing."""
    found, keys = [], set()
    for array in arrays:
        if register is not None and not register.is_late(array.identity, array.reference):
            keys.add(array.key)
    for array in arrays:
        if array.key not in keys:
            keys.add(array.key)
            found.append(array)
    return found


def _native(frameworks, arrays, nameless):
    """{identity of an array: what keeps it} out of the collector's sight."""
    kept = {}
    for framework in frameworks if nameless else ():
        own = [a.reference() for a in arrays if a.framework is framework]
        kept.update(framework.kept_natively([o for o in own if o is not None]))
    return kept


class _Upwards:
    """Finds names above arrays. What is on the way stays alive meanwhile."""

    def __init__(self, deadline):
        self._deadline = deadline
        self._containers = {}  # by identity
        self.complete = False  # whatever has a name was found

    def names(self, arrays):
        """{identity: Name} of some arrays."""
        walk = referrers.Walk(self._deadline)
        walk.climb([o for o in (a.reference() for a in arrays) if o is not None])
        self.complete = walk.complete
        paths = walk.paths()  # of all that is on the way, too
        paths = {a.identity: paths[a.identity] for a in arrays if a.identity in paths}
        self._containers.update((id(p.container), p.container) for p in paths.values())
        return {identity: Name(path) for identity, path in paths.items()}

    def below(self, container, arrays):
        """Those arrays, of {identity: array}, that are below a container."""
        seen, level = set(), [self._containers[container]]
        while level and len(seen) < MAX_BELOW and own.monotonic() < self._deadline:
            below = gc.get_referents(*level)
            level = [r for r in below if id(r) not in seen and not issubclass(type(r), NOT_BELOW)]
            seen.update(map(id, level))
        return [arrays[i] for i in seen.intersection(arrays)]


class Holders:
    """Holders by path. A finder tells names: _Upwards, or a Downwards."""

    def __init__(self, deadline, finder):
        self.native = {}  # identity: what keeps an array
        self._deadline = deadline
        self._finder = finder
        self.found = {}  # path: [bytes, count]
        self.path_of = {}  # identity of a counted array: its path
        self._counted = set()
        self._nameless = []  # arrays that no path leads to, and why

    def name(self, arrays):
        """Names the holders of arrays. Some are walked up from; what else their
        containers hold is counted along; then some of the rest, in time."""
        by_identity = {a.identity: a for a in arrays}
        left = arrays
        while left and (left is arrays or own.monotonic() < self._deadline):
            self._name_some(_representatives(left), by_identity)
            left = [a for a in left if a.identity not in self._counted]

    def _name_some(self, chosen, by_identity):
        names = self._finder.names(chosen)
        texts = _texts(names.values())
        for array in chosen:
            if array.identity in names:
                self._count(texts[names[array.identity]], array)
            else:
                self._counted.add(array.identity)
                self._nameless.append((array, self._finder.complete))
        containers = {n.container: texts[n] for n in names.values() if n.container is not None}
        for container, text in containers.items() if len(chosen) < len(by_identity) else ():
            for array in self._finder.below(container, by_identity):
                self._count(text, array)

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
        if array.identity in self.native:
            return self.native[array.identity]
        kind = array.kind
        if complete:
            return "%s %s: a reference cycle or native code" % (kind, array.group)
        return "%s %s: not found in time" % (kind, array.group)

    def _count(self, path, array):
        if array.identity not in self._counted:
            self._counted.add(array.identity)
            self.path_of[array.identity] = path
            self.add(path, array.size, 1)

    def add(self, path, size, count):
        entry = self.found.setdefault(path, [0, 0])
        entry[0] += size
        entry[1] += count

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


def _texts(names):
    """{name: text}. Where elements of one container differ in their further
    steps, the container's name stands for all of them."""
    by_container = {}
    for name in names:
        by_container.setdefault(name.container, set()).add(name.text)
    texts = {}
    for name in names:
        mixed = name.container is not None and len(by_container[name.container]) > 1
        texts[name] = name.of_container if mixed else name.text
    return texts


def _add_graphs(holders, arrays, recent, deadline):
    """Adds what only autograd graphs keep, under the outputs that keep them.
    Returns the keys of the storages that are charged with it."""
    nameless = {a.key for a in holders.nameless}
    visible = {a.key[1] for a in arrays if a.key not in nameless}
    before = set(visible)
    for framework in {id(a.framework): a.framework for a in recent}.values():
        own = [a.reference() for a in recent if a.framework is framework]
        outputs = [o for o in own if getattr(o, "grad_fn", None) is not None]
        # Outputs with a name first: what they keep is theirs.
        outputs.sort(key=lambda o: id(o) not in holders.path_of)
        for output, size, word in framework.graphs(outputs, visible, deadline):
            path = holders.path_of.get(id(output), type(output).__name__)
            holders.add("%s: autograd graph of %s outputs" % (path, word), size, 1)
    return visible - before


def grown(lengths, register):
    """{identity: elements gained} of the containers that gained most."""
    gains = {i: register.growth(i, length) for i, length in lengths.items()}
    most = sorted((i for i in gains if gains[i] >= survivors.LARGE), key=gains.get, reverse=True)
    return {i: gains[i] for i in most[:CONTAINERS]}


def _add_containers(holders, register, deadline):
    """Names containers that gained most elements: the host's own leaks."""
    lengths = {} if register.partial else survivors.containers()
    if atomic.POSSIBLE:
        from gpumem_agent import looks
        from gpumem_agent.reach import Reach

        looks.add_containers(holders, Reach(()), register, lengths)
    gains = grown(lengths, register)
    walk = referrers.Walk(deadline)
    found = survivors.find(gains)
    walk.climb(list(found.values()))
    paths = walk.paths()
    for identity in found:
        if identity in paths:
            holders.add(*sized(paths[identity], gains[identity]))


def sized(path, count):
    """(name, bytes, count) of so many elements of the container at the end of a
    path. The bytes are an estimate from some of them and the container itself."""
    container = path.chain[-1]
    each = sys.getsizeof(container) / max(1, len(container))
    for elements in (container, container.values()) if is_a(container, dict) else (container,):
        some = list(map(sys.getsizeof, itertools.islice(elements, 100)))
        each += sum(some) / max(1, len(some))  # it may have been emptied meanwhile
    return "%s %s" % (type(container).__name__, path), int(count * each), count
