"""How many objects the classes have: what a program keeps in a tree, in a chain or in
objects that refer to each other makes no container longer.

A class is told where its objects explain more than all holders that have a name, with
where most of them are below, and the lines that make them.
"""

import functools
import itertools
import operator
import re

from gpumem_agent import atomic
from gpumem_agent.holders import contents, tees
from gpumem_agent.holders.fillers import FOR_THE_END, Filler
from gpumem_agent.holders.growing import END_PATH
from gpumem_agent.holders.kinds import is_a, is_library, module_names
from gpumem_agent.holders.living import SOME
from gpumem_agent.holders.naming import WEIGHTY
from gpumem_agent.holders.texts import in_program, module_file
from gpumem_agent.holders.words import kind_of_class
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

CLASSES = 3  # of those that gained most, that are weighed
OTHERS = 8  # of libraries', whose names are looked for in the program
MOST = 50000  # objects of one that are looked at: the youngest are the first and the last of all
WEIGHED = 32  # objects of one
MORE = 2  # times the bytes of all other holders
HIDDEN = 0.5  # of them, that no name leads to: who has the others is not what keeps them
ASKED = 32  # of those that were reached, whether others are below them
BELOW = 2000  # objects below them that are gone through
MOST_LINES = 2  # told of a class
# What makes objects of a class, where that is not its name.
MAKERS = {
    "Element": r"\b(?:iterparse|XMLParser|SubElement|Element|fromstring)\s*\(",
    "LogRecord": r"\blog\w*\.(?:debug|info|warning|error|exception|critical|log)\s*\(",
    "partial": r"\bpartial\s*\(",
    "_tee_dataobject": r"\btee\s*\(",
}


def add(holders, reach, register, now, frameworks, registered=0, beside=None):
    """Adds the class whose objects explain most of what came since the register, where
    they do so better than all that holders has. Now is the census, and registered how many
    callbacks for the program's end came, which are out of sight. On a device the arrays below
    the objects count alone, and beside are further facts."""
    arrays = [kind for f in frameworks for kind in f.types()]
    gains = {i: n - register.of_class(i) for i, n in now.items()}
    most = [i for i in sorted(gains, key=gains.get, reverse=True) if gains[i] >= SOME]
    left_out = atomic.family(arrays)
    chosen = _chosen([kind for kind in kinds_of(set(most)) if atomic.key(kind) not in left_out], gains)
    best, weigh = None, None if beside is None else functools.partial(_arrays, frameworks)
    weighed = _weighed([(kind, now[atomic.key(kind)]) for kind in chosen], weigh)
    for kind, (identities, each) in zip(chosen, weighed):
        gained = gains[atomic.key(kind)]
        size = int(each * gained)
        if best is None or size > best[0]:
            best = size, kind, gained, identities
    if best is None or best[0] < max(WEIGHTY, MORE * sum(size for size, _ in holders.found.values())):
        return
    size, kind, gained, identities = best
    name, place, function = name_of(kind), _place(reach, identities, kind), _function_of(kind)
    made = name if function is None else name_of(function) + ".apply"
    facts = {"filled": (Made(made),), "length": now[atomic.key(kind)], **(beside or {})}
    if register.classes_since is not None:
        facts["since"] = register.classes_since
    if kind is tees.LINK and _add_tee(holders, reach, size, gained, facts):
        return
    if _are_hidden(reach, kind, identities):
        place = ""  # the names lead to the few that are in use
        if registered >= gained * HIDDEN > 0:
            place, facts["filled"] = END_PATH, (Filler(FOR_THE_END, "", True),)
    holders.found.pop("%s %s" % (name, place), None)  # the first of a chain, as far as it is followed
    there = [path for path in holders.found if place and path.partition(" ")[2] == place]
    if any(_has_them(holders, path, gained) for path in there):
        return
    for path in there:  # a few of them
        holders.found.pop(path)
    why = kind_of_class(kind)
    below = " below " + place if place else ""
    if function is not None and not place:
        why, below = "reference-cycle", ": a reference cycle"  # an output has its context, which has it
    if why:
        facts["kind"] = why
    holders.add("%s objects%s" % (name, below), size, gained, facts)


def _has_them(holders, path, gained):
    """Whether a container that grew has so many objects that came. One of the last few, of which
    each has the one before, has not."""
    length = holders.facts.get(path, {}).get("length")
    return length is None or length >= gained * HIDDEN


def _add_tee(holders, reach, size, links, facts):
    """Adds the branch of a tee that has so many links more to give. Returns whether a name
    leads to it."""
    path = tees.path_of(tees.behind(), reach)
    if path is None:
        return False
    holders.found.pop(path, None)  # as far as it is followed
    facts["length"] *= tees.ELEMENTS
    holders.add(path, size, links * tees.ELEMENTS, facts)
    return True


class Made:
    """A class whose objects the program makes."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def sites(self):
        """Places of the lines that do so."""
        return _sites(self._name)


@functools.lru_cache(maxsize=64)  # each look asks again
def _sites(name):
    called = MAKERS.get(name, r"(?<!class )(?<!\w)%s\s*\(" % re.escape(name))
    word = "" if name in MAKERS else name
    return in_program(re.compile(called), word, MOST_LINES)


def kinds_of(keys):
    """The types among all classes that have some keys."""
    found, seen, pending = [], set(), [object] if keys else []
    while pending:
        kind = pending.pop()
        key = atomic.key(kind)
        if key not in seen:
            seen.add(key)
            pending.extend(type.__subclasses__(kind))
            if key in keys:
                found.append(kind)
    return found


def _chosen(kinds, gains):
    """Those of some classes that are weighed: of the program's, and of those of which it is known
    what makes their objects, the ones that gained most; where these are too few, of libraries'
    as well, of which the program makes objects itself. Others say little of who keeps them."""
    kinds = sorted(kinds, key=lambda kind: -gains[atomic.key(kind)])
    own, others = [], []
    for kind in kinds:
        file = _file_of(kind)
        if name_of(kind) in MAKERS or file and not is_library(file):
            own.append(kind)
        elif file:
            others.append(kind)
    if len(own) < CLASSES:
        own += [kind for kind in others[:OTHERS] if _sites(name_of(kind))]
    return own[:CLASSES]


def _file_of(kind):
    """The file that a class is of; empty of one that is made in C."""
    module = type.__getattribute__(_function_of(kind) or kind, "__module__")
    return module_file(module) if type(module) is str else ""


def _function_of(kind):
    """The autograd Function of the program's of whose contexts a class of PyTorch's is; None of
    another class. PyTorch makes one for each Function."""
    function = type.__dict__["__dict__"].__get__(kind).get("_forward_cls")
    return function if is_a(function, type) else None


def name_of(kind):
    return type.__getattribute__(kind, "__name__")


def _arrays(frameworks, item, told):
    """Bytes of an array of the device; 0 of all else."""
    framework = next((f for f in frameworks if is_a(item, f.types())), None)
    described = framework and framework.describe(item)
    return described[1] if described else 0


def _weighed(kinds, weigh=None):
    """Of each of some pairs of a class and the number of its objects: (identities of objects of
    the class, bytes that one takes), in one look at all objects."""
    if not kinds:
        return []
    box, parts = [], [_Part(kind, number) for kind, number in kinds]
    with paused():
        own.sleep(0)
        atomic.once(
            atomic.everything(box),
            *itertools.chain.from_iterable(part.steps(box) for part in parts),
            atomic.empty(box, [part.found for part in parts]),
        )
        sizes = []
        for part in parts:
            sizes.append(contents.apart(part.some, part.kind, weigh))
            part.some.clear()
    return [(set(atomic.identities(part.keys)), size) for part, size in zip(parts, sizes)]


class _Part:
    """The objects of a class among all: keys of the first and the last of them, and some of
    these that are to be weighed, evenly from all over."""

    def __init__(self, kind, number):
        self.kind, self._number = kind, number
        self.found, self.keys, self.some = [], [], []

    def steps(self, box):
        """Steps of atomic.once that fill them from the list in box."""
        step, half = max(1, min(self._number, MOST) // WEIGHED), MOST // 2
        last = max(half, self._number - half)
        is_one = map(operator.is_, map(type, atomic.each(box)), itertools.repeat(self.kind))
        return (
            atomic.fill(self.found, itertools.compress(atomic.each(box), is_one)),
            atomic.fill(self.keys, map(atomic.key, itertools.islice(self.found, half))),
            atomic.fill(self.keys, map(atomic.key, itertools.islice(self.found, last, None))),
            atomic.fill(self.some, itertools.islice(self.found, 0, MOST, step)),
        )


def _are_hidden(reach, kind, identities):
    """Whether no name leads to most of some objects of a class. A look goes but so far: what
    it reached of a chain or a tree leads to the others."""
    reached = reach.deepest(identities)
    if len(reached) >= len(identities) * HIDDEN:
        return False
    return not _lead_on(kind, reached[:ASKED], identities.difference(reached))


def _lead_on(kind, some, others):
    """Whether any of others is below some objects of a class."""
    box, found, seen = [], [], set(module_names())
    wanted = atomic.among(map(atomic.key, atomic.each(box)), set(atomic.keys_of(some)))
    with paused():
        own.sleep(0)
        atomic.once(
            atomic.everything(box),
            atomic.fill(found, itertools.compress(atomic.each(box), wanted)),
            atomic.empty(box),
        )
        # One whose place another object took by now is not asked.
        found[:] = [item for item in found if type(item) is kind]
        contents.below(found, seen, BELOW)
        found.clear()
    return not others.isdisjoint(seen)


def _place(reach, identities, kind):
    """The path to what most of some objects of a class are below; empty where no name leads
    there."""
    # The head of a chain may be another one by now, or one of several: then what has it.
    for above in reversed(reach.above(identities)):
        for name in reach.named([above], arrays={atomic.key(kind)}).values():
            return name.text.partition(" → dict")[0]
    return ""
