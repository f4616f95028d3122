"""Objects that nothing but each other refers to, while a program runs whose collector
is off.

What such a collector calls young came since its last collection. Of the classes that
most of it is of, some objects are looked at as the collector would: who has a reference
that comes from none of the objects below is alive, and so is what that one refers to. A
reference from where the collector cannot look is one of these: then nothing is told.
"""

import collections
import functools
import gc
import itertools
import sys

from gpumem_agent import atomic
from gpumem_agent.holders import contents, rings
from gpumem_agent.holders.classes import Made, kinds_of, name_of
from gpumem_agent.holders.kinds import is_a, module_names
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

PATH = "%s objects: a reference cycle%s"
MUCH = 100  # young objects of a class, from which it is looked at
CLASSES = 4  # of those that most young objects are of
SOME = 8  # objects of one that are looked at
BELOW = 1000  # objects below one of them: a tree is garbage as a whole
MEMBERS = 2000  # objects below all of them, from which no more of them are looked at
PART = 0.5  # of those looked at, from which all are taken for garbage
YOUNG = 0  # the generation
HEAP_TYPE = 1 << 9  # of a type's flags: it was made at run time
FLAGS = type.__dict__["__flags__"].__get__  # without asking a metaclass


def is_off():
    """Whether nothing collects garbage by itself."""
    return not gc.isenabled() or gc.get_threshold()[0] == 0


def add(holders, register, frameworks):
    """Adds the class of which the most garbage came since the register. Returns whether
    there is one."""
    found = [_found(kind, number, register, frameworks) for kind, number in _candidates()]
    size, count, name, ring = max(found, default=(0, 0, "", ""))
    if size > 0:
        facts = {"kind": "reference-cycle", "filled": (Made(name),)}
        holders.add(PATH % (name, ring), size, count, facts)
    return size > 0


def _candidates():
    """Pairs of a class and the number of its young objects, for those that have most."""
    box, counts = [], {}
    atomic.once(
        _young(box),
        functools.partial(collections._count_elements, counts, atomic.types_of(atomic.each(box))),
        atomic.empty(box),
    )
    many = {key for key, number in counts.items() if number >= MUCH}
    kinds = [kind for kind in kinds_of(many) if FLAGS(kind) & HEAP_TYPE]
    kinds.sort(key=lambda kind: -counts[atomic.key(kind)])
    return [(kind, counts[atomic.key(kind)]) for kind in kinds[:CLASSES]]


def _young(box):
    """A step that puts one list of all young objects into box."""
    return atomic.fill(box, map(gc.get_objects, (YOUNG,)))


def _found(kind, number, register, frameworks):
    """(bytes, objects, name, attributes as rings.through has them) of a class that are garbage and
    came since the register."""
    box, some = [], []
    chosen = atomic.among(atomic.types_of(atomic.each(box)), {atomic.key(kind)})
    chosen = itertools.compress(atomic.each(box), chosen)
    step = max(1, number // SOME)
    with paused():
        own.sleep(0)
        atomic.once(
            _young(box),
            atomic.fill(some, itertools.islice(chosen, 0, SOME * step, step)),
            atomic.empty(box),
        )
        lost = _Lost(some, kind, frameworks)
        size = contents.apart(some, kind) if lost.count else 0
        ring = rings.through([item for item in some if id(item) in lost.dead], is_followed(lost.shared))
        some.clear()
    if lost.count < max(1, PART * lost.looked):
        return 0, 0, "", ""
    count = (number - register.of_class(atomic.key(kind))) * lost.count // lost.looked
    return int(count * (size + lost.arrays())), count, name_of(kind), ring


class _Lost:
    """What is known of some objects of a class, looked at one after the other."""

    def __init__(self, some, kind, frameworks):
        self._some, self._kind, self._frameworks = some, kind, frameworks
        self.shared = set(module_names())
        self.dead = set()  # identities of what is garbage with one of these
        self._of_kind = 0  # of it, objects of the class
        self._sizes, self._owners = {}, collections.Counter()  # of arrays
        self.looked = self.count = 0  # how many of these, and how many are garbage
        left = MEMBERS
        for place in range(len(some)):  # no variable may refer to one of them
            left -= self._look(place) if left > 0 else 0

    def _look(self, place):
        """Looks at one, unless it is known by another one's look. Returns how many objects
        were looked at for that."""
        self.looked += 1
        first = id(self._some[place])
        if first in self.dead:
            self.count += 1
            return 0
        members = _below([self._some[place]], self.shared)
        alive = _alive(members, self._some)
        if first not in alive:
            self.count += 1
            self._add([i for i in members if i not in alive and i not in self.dead], members)
        return len(members)

    def _add(self, dead, members):
        self.dead.update(dead)
        self._of_kind += sum(type(members[i]) is self._kind for i in dead)
        found = dict(_arrays([members[i] for i in dead], self._frameworks))
        self._sizes.update(found)
        self._owners.update(list(found))

    def arrays(self):
        """Bytes of arrays that an object of the class has for itself when it is garbage: a
        tree of these is garbage as a whole, with the arrays of all its nodes."""
        own = sum(size for key, size in self._sizes.items() if self._owners[key] == 1)
        return own / max(1, self._of_kind)


def _below(items, shared):
    """{identity: object} of some objects and of those next below them."""
    members, pending, may = dict(zip(map(id, items), items)), collections.deque(items), is_followed(shared)
    while pending:
        for child in atomic.referents(pending.popleft()):
            if len(members) > BELOW:
                return members
            if id(child) not in members and may(child):
                members[id(child)] = child
                pending.append(child)
    return members


def is_followed(shared):
    """Whether an object may be garbage with one that refers to it: no class, and none of the shared."""
    return lambda child: gc.is_tracked(child) and id(child) not in shared and not is_a(child, type)


def _alive(members, some):
    """Identities of members that are referred to from elsewhere, or by one that is."""
    below = {i: list(map(id, atomic.referents(member))) for i, member in members.items()}
    known = collections.Counter(itertools.chain.from_iterable(below.values()))
    known.update(map(id, some))
    (ours,) = map(sys.getrefcount, {0: []}.values())  # of one that nothing else has
    counts = dict(zip(members, map(sys.getrefcount, members.values())))
    pending = [i for i, number in counts.items() if number - ours > known[i]]
    alive = set(pending)
    while pending:
        fresh = [i for i in below[pending.pop()] if i in members and i not in alive]
        alive.update(fresh)
        pending.extend(fresh)
    return alive


def _arrays(dead, frameworks):
    """Pairs of (key, bytes) of the arrays among some objects, and of those next below that
    the collector does not track. NumPy's are counted with what they are below."""
    untracked = (o for o in itertools.chain.from_iterable(map(atomic.referents, dead)) if not gc.is_tracked(o))
    for item in itertools.chain(dead, untracked):
        for framework in frameworks:
            if framework.name != "numpy" and issubclass(type(item), framework.types()):
                told = framework.describe(item)
                if told is not None:
                    yield (framework.name, told[0]), told[1]
