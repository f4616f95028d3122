"""From arrays with their names to a list of holders: bytes and counts by path."""

import itertools
import sys

from gpumem_agent.holders.kinds import is_a
from gpumem_agent.holders.living import LARGE
from gpumem_agent.own import own

MAX_NAMED = 64  # arrays whose referrers are walked at a time
PER_GROUP = 8  # of these, for each shape, when there are more
CONTAINERS = 10  # growing containers named when no array explains the growth


def with_gone(found, told):
    """What was found at the end, and what was told while the program ran and
    has been given up since; most bytes first."""
    left = {entry["path"] for entry in found}
    lost = [entry for entry in told if entry["path"] not in left]
    lost = [dict(entry, path=entry["path"] + " (gone at the end)") for entry in lost]
    return sorted(found + lost, key=lambda entry: -entry["bytes"])


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


class Holders:
    """Holders by path. A finder tells names: upward.Upwards
    or running.Downwards."""

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


def grown(lengths, register):
    """{identity: elements gained} of the containers that gained most."""
    gains = {i: register.growth(i, length) for i, length in lengths.items()}
    most = sorted((i for i in gains if gains[i] >= LARGE), key=gains.get, reverse=True)
    return {i: gains[i] for i in most[:CONTAINERS]}


def sized(path, count):
    """(name, bytes, count) of so many elements of the container at the end of a
    path. The bytes are an estimate from some of them and the container itself."""
    container = path.chain[-1]
    each = sys.getsizeof(container) / max(1, len(container))
    for elements in (container, container.values()) if is_a(container, dict) else (container,):
        some = list(map(sys.getsizeof, itertools.islice(elements, 100)))
        each += sum(some) / max(1, len(some))  # it may have been emptied meanwhile
    return "%s %s" % (type(container).__name__, path), int(count * each), count
