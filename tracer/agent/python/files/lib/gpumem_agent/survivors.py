"""Which arrays live, and which of them were made late."""

import collections
import gc
import itertools
import weakref

MAX_NOTED = 200000
GROWING = (list, dict, set, collections.deque)
LARGE = 1000  # elements from which a container is noted


def tracked(kinds, subclasses=True):
    """Objects of these types, and their subclasses, that the interpreter's
    collector tracks. The whole pass runs inside C functions, so that no other
    thread runs in between and nothing outlives its time because of it."""
    wanted = set()
    pending = list(kinds)
    while pending:
        kind = pending.pop()
        if kind not in wanted:
            wanted.add(kind)
            pending.extend(type.__subclasses__(kind) if subclasses else ())
    if not wanted:
        return []
    objects = gc.get_objects()
    try:
        return list(itertools.compress(objects, map(wanted.__contains__, map(type, objects))))
    finally:
        del objects


def untracked(*kinds):
    """Objects of exactly these types, which the collector does not track,
    found as referents of those that it does; each once."""
    objects = gc.get_objects()
    wanted, found = set(kinds), {}
    # In slices: get_referents makes a list of all elements of what it is given.
    for at in range(0, len(objects), 4096):
        elements = gc.get_referents(*objects[at : at + 4096])
        matches = map(wanted.__contains__, map(type, elements))
        found.update((id(e), e) for e in itertools.compress(elements, matches))
    return list(found.values())


class Array:
    """A live array, as its framework describes it."""

    __slots__ = ("object", "key", "size", "group", "framework")

    def __init__(self, object_, key, size, group, framework):
        self.object = object_
        self.key = (framework.name, key)
        self.size = size
        self.group = group
        self.framework = framework


def arrays(frameworks):
    """All live arrays of the frameworks."""
    found = []
    for framework in frameworks:
        objects = tracked(framework.kinds())
        objects.extend(framework.arrays())
        for item in objects:
            described = framework.describe(item)
            if described is not None:
                found.append(Array(item, *described, framework=framework))
    return found


class Register:
    """The arrays that lived at one moment, by weak reference."""

    def __init__(self, frameworks):
        self._frameworks = list(frameworks)
        self._noted = {}
        self._lengths = {id(c): len(c) for c in containers()}
        self.sites = None  # live bytes by site at that moment, when noted
        for array in arrays(self._frameworks):
            if len(self._noted) >= MAX_NOTED:
                break
            try:
                self._noted[id(array.object)] = weakref.ref(array.object)
            except TypeError:
                continue

    def note_sites(self):
        """Also notes the sites, where the frameworks record them."""
        self.sites = sites_of([f for f in self._frameworks if f.active()])

    def is_late(self, item):
        """Whether an object was made after that moment."""
        reference = self._noted.get(id(item))
        return reference is None or reference() is not item

    def growth(self, container):
        """Elements that a container gained since that moment."""
        return len(container) - self._lengths.get(id(container), 0)


def containers():
    """Large lists, dictionaries, sets and deques."""
    return [c for c in tracked(GROWING, subclasses=False) if len(c) >= LARGE]


def sites_of(frameworks):
    """{site: [bytes, count]} of all frameworks that record, or None."""
    every = [s for s in (f.sites() for f in frameworks) if s is not None]
    if not every:
        return None
    merged = {}
    for found in every:
        for site, (size, count) in found.items():
            entry = merged.setdefault(site, [0, 0])
            entry[0] += size
            entry[1] += count
    return merged
