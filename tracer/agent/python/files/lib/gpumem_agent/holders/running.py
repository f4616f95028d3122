"""Who holds what was made late, while the program runs on.

Programs end in ways that leave nothing to ask for: a function returns and its
list of losses is gone, or the kernel kills them for memory. So now and then the
sampling thread looks (see downward) and tells what it found. What native code or
only a library holds is left for the program's end; for what autograd keeps see
graphs.
"""

import functools
import itertools
import re

from gpumem_agent import atomic
from gpumem_agent.frameworks.beside import beside
from gpumem_agent.frameworks.sources import sources
from gpumem_agent.holders import classes, contents, garbage, growing, living, opaque, recounts, tees
from gpumem_agent.holders.downward import Reach
from gpumem_agent.holders.kinds import Contexts
from gpumem_agent.holders.living import SOME
from gpumem_agent.holders.naming import WEIGHTY, Holders, grown, late, matter, sized, state_of
from gpumem_agent.holders.nesting import Nesting
from gpumem_agent.holders.register import Register
from gpumem_agent.own import own

MOST_ARRAYS = 40000  # of those late first; the time that a look has bounds them as well
TURNS = 64  # in which the late ones are gone through
MOST_ASKED = 50  # holders, whether they keep graphs
MOST_ROOTS = 200  # contexts and generators
MOST_REPLACED = 32  # arrays in whose place others are looked for
MOST_KEPT, FEW_KEPT = 64, 4  # arrays of a holder that are looked for at the next look
CHAIN = re.compile(r"((?:\.\w+(?:\[…\])*){1,3})\1")  # steps of a path that come again at once


def look(process, reference, deadline, before=((), {}, {}), on_host=False, explains=lambda _: None):
    """(holders of what is later than the reference, what was reached). Before are the
    holders of the look before, the places of what it reached, and what it noted of what
    grows by itself. On the host containers
    are looked for as well beside a device. Where explains does not say of the holders that they have
    what came, it is looked for once more, below generators, and in the objects of each class, on a device
    only where it denies that: to find these is dearer than all the rest. How many there are is counted
    for the first time then, and told by the look after it."""
    on_device = any(f.active() for f in process.frameworks)
    is_off = garbage.is_off()  # and nobody else frees what refers to itself
    census, roots = {}, []
    if is_off:
        census, roots = living.census(Contexts.kind())
    elif reference is None and not on_device:
        roots = living.of_kind(Contexts.kind())
    search = functools.partial(_Search, process, reference, deadline, before, on_host)
    first = search(roots, census)
    found = first.listed()
    explained = reference is None or explains(found)
    if explained:
        return found, first.noted
    thorough = not on_device or explained is False
    if census or not thorough:
        # The early looks make do with the generators that were there at the survey.
        is_known = reference.generators is not None and not thorough
        counted, more = census, reference.generators if is_known else living.generators()
    else:
        counted, more = living.census_and_generators(*(() if on_device else (Contexts.kind(),)))
    last = search(roots + more, census) if more else first
    if thorough:
        last.add_classes(counted)
    return last.listed(), last.noted


class _Search:
    """What look finds of what some roots and the program's names lead to."""

    def __init__(self, process, reference, deadline, before, on_host, roots, census):
        self._frameworks = sources(process.frameworks)
        self._on_device = any(f.active() for f in process.frameworks)
        self._others = beside(self._frameworks) if self._on_device else []
        self._reference, self._before, self._on_host = reference, before, on_host
        self._reach = reached(self._frameworks + self._others, roots)
        self._census = census
        self.noted = Noted(self._reach, census)
        if reference is not None and not census:
            self.noted.note_classes(reference.classes, reference.classes_since)
        self.noted.met = self.noted.met if reference is None else reference.met
        self.noted.has_outputs = living.has_outputs(self._frameworks, self.noted.noted)
        self._found = Holders(deadline, Downwards(self._reach), self.noted.met)
        self._uncounted = []  # pairs of frameworks and facts, whose classes are not counted yet
        facts, all_of_them = {"host": True} if self._on_device else {}, on_host or not self._on_device
        self.noted.sizes = growing.add(self._found, self._reach, before[2], facts, all_of_them)
        if reference is not None:
            self._find(deadline)

    def _find(self, deadline):
        found, noted, reach, reference = self._found, self.noted, self._reach, self._reference
        arrays = _described(noted, reference, self._frameworks, deadline)
        found.state = state_of(arrays)
        recent = late(arrays, reference)
        found.name(recent)
        noted.gone.update(a.identity for a in recent if a.identity not in found.path_of)
        tees.put_together(found, reach)
        found.scale(recent)
        found.note_views(recent)
        add_replaced(found, noted, reach, self._frameworks)
        mark_outputs(found, recent)
        if garbage.is_off():
            garbage.add(found, reference, self._frameworks)
        if not self._on_device:
            add_containers(found, reach, reference, told={a.identity for a in arrays})
            self._classes(False, self._frameworks, None)
        elif self._on_host:
            recent += self._find_on_the_host(arrays)
        else:
            add_opaque(found, reach, reference, told={a.identity for a in arrays})
        if self._on_device:
            self._classes(is_lost(found, recent), self._frameworks, {})
        if reference.beside is None:  # what is there by now nobody kept since
            reference.beside = noted.noted
        noted.kept = _kept(found, recent)

    def _find_on_the_host(self, arrays):
        """Adds the holders of what is beside the device. Returns its arrays."""
        found, reference = self._found, self._reference
        on_the_host = add_beside(found, self.noted, reference, self._others, Downwards(self._reach))
        told = {a.identity for a in (*arrays, *on_the_host)}
        add_containers(found, self._reach, reference, found.named(), {"host": True}, told)
        self._classes(is_lost(found, on_the_host, True), self._others, {"host": True})
        return on_the_host

    def _classes(self, wanted, frameworks, facts, counted=None):
        """Adds the classes of what these frameworks have, or of all that the host has where facts
        are None; or leaves that for later. They are counted once, and for the first time where
        holders do not explain what came: to compare them takes another look then."""
        if not wanted:
            self._uncounted.append((frameworks, facts))
            return
        noted, reference = self.noted, self._reference
        self._census = self._census or counted or living.census()[0]
        noted.note_classes(self._census, own.monotonic())
        if reference.classes_since is None:
            reference.note_classes(self._census, noted.classes_since)
            return
        for_the_end = growing.registered(noted.sizes)
        classes.add(self._found, self._reach, reference, self._census, frameworks, for_the_end, facts)

    def add_classes(self, counted):
        """Adds the classes that were left for later, of a census."""
        for frameworks, facts in self._uncounted:
            self._classes(True, frameworks, facts, counted)
        self._uncounted = []

    def listed(self):
        """The holders, with the names that the look before gave; where they are, is noted."""
        if self._reference is None:
            return []
        told, known, _ = self._before
        found, noted = self._found, self.noted
        noted.places = {entry["path"]: known[entry["path"]] for entry in told if entry["path"] in known}
        noted.places.update(found.places())
        listed = renamed(found.listed(), noted.places, told, known)
        noted.ways = recounts.ways(self._reach, self._reference, listed, noted.places, found.path_of)
        return listed


def add_beside(found, noted, reference, others, finder):
    """Adds the holders of arrays of the host beside a device, but of those that hold the
    device's as well. Returns the arrays. Who noted what lives did not note all of these: they
    count from the first look on."""
    first = reference.beside
    if first is None:
        return []
    arrays = _described(noted, reference, others, found.deadline)
    arrays = [a for a in late(arrays, reference) if first.get(a.identity) is not a.reference]
    holders = Holders(found.deadline, finder)
    holders.name(arrays)
    holders.scale(arrays)
    holders.note_views(arrays)
    paths = {path for path in holders.found if path not in found.found}
    for path in paths:
        found.take(path, holders, {"host": True})
    return [a for a in arrays if holders.path_of.get(a.identity) in paths]


def is_lost(found, arrays, on_host=False):
    """Whether holders of several arrays have less than half of some, and these are in a chain:
    objects that have an array each are no container, and only the first are reached, nor is a
    tree whose nodes know their parents, along which each has another path. To count
    classes takes as long again as a look, and most programs have some arrays in variables."""
    paths = [path for path in found.found if found.facts.get(path, {}).get("host", False) is on_host]
    chained = {path for path in paths if CHAIN.search(path)}
    if not chained:
        return False
    several = [found.found[path] for path in paths if path not in chained]
    return sum(size for size, count in several if count > 1) < sum(a.size for a in arrays) / 2


def add_replaced(found, noted, reach, frameworks):
    """Adds the arrays in whose place the look met others, which are gone by now: a program that
    puts a longer array in the place of the one before has another one at each moment."""
    gone = list(itertools.islice(noted.gone, MOST_REPLACED))

    def look_at(path):
        array = path.chain[-1]
        framework = next((f for f in frameworks if issubclass(type(array), f.types())), None)
        if framework is None:
            return None  # another object has the address of one that is gone
        told = framework.describe(array)
        return told and (str(path), told[1], path.facts())

    arrays = atomic.family(kind for f in frameworks for kind in f.types())
    for told in filter(None, reach.named(gone, look_at, arrays).values()):
        path, size, facts = told
        if path not in found.found:
            found.add(path, size, 1, facts)


def _kept(found, arrays):
    """Some arrays of each holder of several, by path."""
    kept = {}
    for array in arrays:
        path = found.path_of.get(array.identity)
        some = kept.setdefault(path, {}) if path in found.found else None
        if some is not None and len(some) < MOST_KEPT:
            some[array.identity] = array.reference
    return kept


def mark_stayed(told, noted, known):
    """Says of each holder how many of the arrays are still there that the look before found, whose Noted is known:
    none of a list that is emptied and filled again, all of one that only gets longer."""
    for entry in () if known is None else told:
        _ask_for(entry, known, known.outlived)
        some = known.kept.get(entry["path"], {})
        if len(some) >= FEW_KEPT:
            there = {i: weak for i, weak in some.items() if noted.noted.get(i) is weak}
            entry["before"], entry["stayed"] = len(some), len(there)
            noted.outlived[entry["path"]] = there


def mark_old(told, known):
    """Says of each holder how many are there by now of the arrays that had stayed by the last look, whose Noted is
    known, or else of those that it found, and how long ago it was: sessions end, and what is left of others stays."""
    for entry in told:
        _ask_for(entry, known, known.outlived if entry["path"] in known.outlived else known.kept)


def _ask_for(entry, known, kept):
    some = list(kept.get(entry["path"], {}).values())
    if len(some) >= FEW_KEPT:
        entry["old"], entry["old_stayed"] = len(some), sum(weak() is not None for weak in some)
        entry["old_over_ms"] = round(1000 * (own.monotonic() - known.at), 3)


def mark_outputs(found, arrays):
    """Marks the holders of several arrays that autograd made, and one of these for each is
    asked. What their graphs keep is not read while the program runs: another thread may be
    about to free it, and to read it may run hooks of the program's."""
    some = {}
    for array in arrays:
        path = found.path_of.get(array.identity)
        if path is not None and found.found[path][1] > 1:
            some[path] = array
    for path, array in itertools.islice(some.items(), MOST_ASKED):
        item = array.alive()
        if item is not None and array.framework.has_graph(item):
            found.facts.setdefault(path, {})["graphs"] = True
        del item


def reached(frameworks, roots=()):
    """What the program's names reach, and contexts and generators with weak references."""
    kinds = [kind for f in frameworks for kind in f.types()]
    hidden = next((pair for pair in (f.hidden() for f in frameworks) if pair[0]), ((), None))
    nested = [kind for f in frameworks for kind in f.nested()]
    return Reach(kinds, nested, hidden, growing.kinds(), roots[:MOST_ROOTS])


def renamed(found, places, before, known):
    """Gives containers that have another path than at the look before the one they were
    told by then: of several functions that hold an object, a coroutine shows its variables
    only while it does not run. Places are the containers by path, by identity."""
    now = {entry["path"] for entry in found}
    lost = {i: entry["path"] for entry in before if entry["path"] not in now for i in known.get(entry["path"], ())}
    for entry in found:
        old = {lost[i] for i in places.get(entry["path"], ()) if i in lost}
        if len(old) == 1:
            (path,) = old
            places[path] = places.pop(entry["path"])
            entry["path"] = path
            lost = {i: other for i, other in lost.items() if other != path}
    return found


class Noted(Register):
    """The arrays and large containers that a look reached."""

    partial = True

    def __init__(self, reach, census):
        super().__init__(reach.arrays(), reach.containers(), census)
        self.complete, self.beside = reach.complete, self.noted
        self.places = {}  # {path of a holder: identities of its containers}
        self.has_outputs = False  # of autograd: see behind
        self.kept = {}  # {path of a holder: {identity: weak reference} of some of its arrays}
        self.outlived = {}  # the same of those that the look before had found as well
        self.at = own.monotonic()
        self.sizes = {}  # of what grows by itself: see growing.add
        self.gone = set()  # identities of arrays that lived no more when they were to be described, or named
        self.ways = {}  # to the containers of holders, by path: see recounts


class Downwards:
    """Finds names of arrays that were reached. See naming.Holders."""

    complete = True
    climbs = False

    def __init__(self, reach):
        self._reach = reach
        self._chains = {}

    def names(self, arrays):
        """{identity: Name} of some arrays."""
        return self._reach.named([a.identity for a in arrays])

    def below(self, container, arrays):
        return [a for i, a in arrays.items() if container in self._chain(i)]

    def _chain(self, identity):
        if identity not in self._chains:
            self._chains[identity] = self._reach.chain(identity)
        return self._chains[identity]


def _described(noted, reference, frameworks, deadline):
    """The Arrays that were reached, the late ones first and evenly from all over: where there
    are too many for the time of a look, each stands for as many more."""
    first = spread({i: weak for i, weak in noted.noted.items() if reference.is_late(i, weak)})
    live = dict(itertools.islice({**first, **noted.noted}.items(), MOST_ARRAYS))
    found = []
    for framework in frameworks:
        asked = set()
        arrays = living.described(live, framework, deadline, framework.types(), noted.gone, asked)
        times = len(first) / max(1, len(first.keys() & asked))
        for array in arrays:
            array.stands_for = times if array.identity in first else 1.0
        found += arrays
    return found


def spread(live):
    """The same {identity: weak reference} in an order of which each beginning is of all parts."""
    items = list(live.items())
    return dict(itertools.chain.from_iterable(items[first::TURNS] for first in range(TURNS)))


def add_containers(found, reach, reference, known=(), more=None, told=()):
    """Adds the containers that gained most elements: the host's own leaks. Those that are
    known by their identities already are left out; beside a device, where these hold its
    arrays, they are told once more, by another name, if they are heavy on the host. More are
    facts of each; for what is told see contents."""
    lengths = {i: n for i, n in reach.containers().items() if more or i not in known}
    gains, nesting = grown(lengths, reference), Nesting(lengths, reference, reach)
    gains.update(nesting.outer(gains))
    times, wholes = nesting.times(gains), contents.Wholes()

    def look_at(path):
        identity = id(path.chain[-1])
        if identity not in known:  # arrays are such objects
            opaque.add(found, path, gains[identity], told, more)
        return sized(path, gains[identity], times.get(identity, 1), told, wholes)

    heavy = [pair for pair in reach.named(gains, look_at).items() if pair[1] is not None]
    for identity, (path, size, count, facts) in _outermost(matter(heavy), reach):
        if identity in known and (path in found.found or size < WEIGHTY):
            continue
        if times.get(identity, 1) > 1:
            facts.pop("length", None)  # of one of them
        found.add_elements(path, size, count, {**facts, **(more or {})})
        found.place(path, identity)


def add_opaque(found, reach, reference, told):
    """Adds the containers that got more objects of extensions: what such an object has at the
    driver, as a texture or a captured graph does, is in no array."""
    gains = grown(reach.containers(), reference)
    reach.named(gains, lambda path: opaque.add(found, path, gains[id(path.chain[-1])], told))


def _outermost(told, reach):
    """Those pairs of an identity and what sized says of it without what is below another of
    them, which counts what its elements keep. That one has to come to as much."""
    sizes = {identity: entry[1] for identity, entry in told}
    above = {i: next((p for p in reach.chain(i)[:-1] if p in sizes), None) for i in sizes}
    below = {}
    for identity, parent in above.items():
        below[parent] = below.get(parent, 0) + sizes[identity]
    return [pair for pair in told if above[pair[0]] is None or sizes[above[pair[0]]] < below[above[pair[0]]] / 2]
