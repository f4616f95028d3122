"""What is behind the outputs of autograd below any name: more operations at each look.

A state that is carried on, or a total in an attribute, is one small array each time, and
keeps the graph of all that was; outputs in a list keep one graph each. Graphs are read on
the program's own thread (see errands, and graphs for the variables of its functions), with
no other thread of Python's about: what is behind an output may change in C++. Operations
are counted, and what they saved is not read. What came meanwhile, less what holders that
are told have of it, is the graphs'.
"""

import re

from gpumem_agent import threads
from gpumem_agent.frameworks import total
from gpumem_agent.holders.downward import Reach
from gpumem_agent.holders.graphs import HEAP_BYTES
from gpumem_agent.holders.naming import Holders
from gpumem_agent.own import own

SECONDS = 0.06  # of the processor's time, to count operations
MOST = 30000  # of these behind one output
PART = 0.02  # seconds, for one output
LONG_PART = 0.005  # to count behind one that had too many at the look before: it may have been cut
COMPARED = 5000  # operations of one output, whether they save arrays
DEEP = 10000  # that are no step's, of a PyTorch that does not number them
FIRST, OTHERS = 32, 32  # outputs that are named: the best known, and some of the rest
GREW = 1.25  # times as many operations as at the look before
LEAST = 50  # operations more of one output, that are no step's
FEW = 3  # of an output in a container, to keep more than itself
MORE = 8  # elements more of a container of outputs
LOCAL = re.compile(r" local \w+$")  # a variable of a function
THREADS = 2  # the program's main one, and ours


class Behind:
    """What is known of one process."""

    def __init__(self):
        self.told = []  # of holders, what the last look found
        self.is_local = False  # whether that is a variable of a function
        self._path = None  # of it
        self._missed = 0  # looks in a row that did not see that
        self._fuller = {}  # {path: another that was found to save more}
        self._before = {}  # {path: _Seen}
        self._held = None, None  # bytes of arrays and of the heap then
        self._at = 0.0

    def look(self, frameworks, explained, heap):
        """Looks which graphs have grown since the look before. Called on the thread that
        uses the frameworks."""
        if len(threads.teller()()) > THREADS:
            self._before = {}
            self._miss()
            return
        active = [f for f in frameworks if f.active()]
        live = total(f.live_bytes() for f in active) if active else None
        now, before, at = own.monotonic(), self._before, self._at
        self._before = _counted(frameworks, before)
        came, on_host = _came(self._held, (live, heap), explained)
        self._held, self._at = (live, heap), now
        grown = _grown(self._before, before, self._fuller)
        if came >= HEAP_BYTES and grown:
            grown = self._standing(before) or grown if self._before[grown].is_local else grown
            seen = self._before.get(grown) or before[grown]
            self._before.setdefault(grown, seen)
            self.told = _told(seen, grown, came, 1000 * (now - at), on_host)
            self.is_local, self._path, self._missed = seen.is_local, grown, 0
        elif came >= HEAP_BYTES and self.told and not self._is_cut():
            self._before.update({p: seen for p, seen in before.items() if p == self._path})
            self._miss()
        else:
            self.told = []

    def _standing(self, before):
        """The path of an object's that was told, where a variable has grown and nothing says that the
        other has not: what is made from it reaches back as far, and there may have been no time for it."""
        stands = self.told and not self.is_local and self._path in before
        return self._path if stands and not self._is_cut() else None

    def _is_cut(self):
        """Whether what was told is known to have no more behind it than before."""
        seen = self._before.get(self._path)
        return seen is not None and (seen.is_whole or seen.is_cut)

    def _miss(self):
        """What was told stands at one look that cannot tell whether it has grown: what is an
        object's or a module's may have had no name, or there was no time for it."""
        self._missed += 1
        if self._missed > 1 or self.is_local:
            self.told = []


def _came(before, held, explained):
    """How many bytes came that graphs may keep, and whether beside a device on the host: arrays
    or else what the heap gained, without what is explained of either. The backward pass takes from a
    graph what it saved, and leaves its operations, which are on the heap."""
    gains = (0 if None in (now, then) else now - then for now, then in zip(held, before))
    on_device, on_heap = (gain - told for gain, told in zip(gains, explained))
    if held[0] is None:
        return on_heap - explained[0], False
    if on_device < HEAP_BYTES <= on_heap:
        return on_heap, True
    return on_device, False


class _Seen:
    """What is known of the graphs behind a path."""

    __slots__ = (
        *("name", "owner", "operations", "is_whole", "word", "number"),
        *("is_local", "goes_back", "is_cut", "grows"),
    )

    def __init__(self, name, owner, path, told, graph):
        self.name = name
        self.owner = owner  # the framework, and a weak reference to the output
        self.operations, self.is_whole, self.word = told  # of one output
        self.number = 0 if graph is None else graph.number  # of its last operation
        self.is_local = name.container is None and LOCAL.search(path) is not None
        self.goes_back = False  # to the look before, or half of the way to it
        self.is_cut = False  # it is known not to
        self.grows = False  # as was seen at this look

    @property
    def length(self):
        return self.name.facts.get("length", 0)

    def has_more(self, before):
        """Whether there are more operations than at the look before, and not one step's."""
        return self.operations >= max(GREW * before.operations, before.operations + LEAST)

    def is_like(self, other):
        """Whether it ranks with another one that has grown: see _grown."""
        return (self.is_local, self.is_sum) == (other.is_local, other.is_sum)

    @property
    def is_sum(self):
        return self.word.startswith("Add")

    def graph(self):
        """That behind the output; None of one that is gone, or is not numbered."""
        framework, reference = self.owner
        array = framework.alive(reference)
        return None if array is None else framework.graph(array)


def _counted(frameworks, before):
    """{path: _Seen} of the outputs that have a name."""
    kinds, owners = [kind for f in frameworks for kind in f.types()], {}
    reach = Reach(kinds)
    for framework in frameworks:
        for identity, reference in reach.arrays().items():
            array = framework.alive(reference)
            if array is not None and framework.has_graph(array):
                owners.setdefault(identity, (framework, reference))
            del array
    chosen = list(owners)
    chosen = chosen[:FIRST] + chosen[FIRST:][:: max(1, len(chosen[FIRST:]) // OTHERS)]
    # To name them takes its time where a program has many objects, and is no part of this.
    found, names = {}, _named(chosen, reach, kinds)
    deadline = own.thread_time() + SECONDS
    for identity, name in names.items():
        path = _path(name)
        framework, reference = owners[identity]
        array = framework.alive(reference)
        if path not in found and array is not None and own.thread_time() < deadline:
            seen = _seen(owners[identity], array, name, path, before.get(path), deadline)
            found.update({path: seen} if seen is not None else {})
        del array
    return found


def _named(chosen, reach, kinds):
    """{identity: Name} of outputs. What an object has is its own, whatever variable it is for a
    moment, too."""
    names = reach.named(chosen)
    local = [identity for identity, name in names.items() if name.container is None and LOCAL.search(_path(name))]
    if local:
        inner = Reach(kinds, inner=True)
        names.update(inner.named(inner.arrays().keys() & local))
    return names


def _path(name):
    return name.text if name.container is None or name.of_modules else name.of_container


def _seen(owner, array, name, path, before, deadline):
    framework, _ = owner
    graph = framework.graph(array)
    part = PART if graph is None or before is None or before.is_whole else LONG_PART
    told = framework.operations(array, MOST, min(deadline, own.thread_time() + part))
    if told is None:
        return None
    seen = _Seen(name, owner, path, told, graph)
    if before is None or before.is_whole and (seen.is_whole or seen.has_more(before)):
        return seen
    # Too many to be counted: how far they lead is found along the oldest ones. What leads back half of the
    # way to the look before is no step's.
    if graph is None:
        is_deep = min(seen.operations, before.operations) >= DEEP
        seen.goes_back = not seen.is_whole and (before.grows or is_deep)
    elif seen.number > before.number:
        deadline = min(deadline, own.thread_time() + PART)
        seen.goes_back = graph.oldest(before.number, deadline) <= (before.number + seen.number) // 2
        seen.is_cut = not seen.goes_back and own.thread_time() < deadline
    return seen


def _grown(now, before, fuller):
    """The path whose graph has grown. Of those with more behind one output, of which
    some are made from others, that is an attribute or in a container rather than a
    variable, a sum rather than what is made from it, and has least behind it."""
    carried, gathered = {}, []
    for path, seen in now.items():
        earlier = before.get(path)
        if earlier is None:
            continue
        seen.grows = seen.goes_back or earlier.is_whole and seen.has_more(earlier)
        if seen.grows:
            carried[path] = seen.is_local, not seen.is_sum, seen.operations
        elif seen.operations >= FEW and seen.length >= earlier.length + MORE:
            gathered.append((seen.length - earlier.length, path))
    if carried:
        most = max(operations for _, _, operations in carried.values())
        large = {path: rank for path, rank in carried.items() if 2 * rank[-1] >= most}
        best = min((rank, path) for path, rank in large.items())[1]
        alike = [path for path in large if now[path].is_like(now[best])]
        if fuller.get(best, best) not in alike or fuller.get(best, best) == best:
            fuller[best] = _fullest(best, alike, now, before)
        return fuller[best]
    return max(gathered)[1] if gathered else None


def _fullest(best, paths, now, before):
    """Of graphs that grew as the best did, and that are not made from each other, the path
    of that with most operations that save arrays: of a running mean and a running spread of
    the same, the spread keeps what it is of."""
    deadline, most = own.thread_time() + SECONDS, None
    for path in paths:
        ours, other = now[best].graph(), now[path].graph()
        if path == best or ours is None or other is None:
            continue
        heads = before[best].number, before[path].number
        if other.has(heads[0], deadline) is False and ours.has(heads[1], deadline) is False:
            most = ours.saving(COMPARED, deadline) if most is None else most
            saving = other.saving(COMPARED, deadline)
            if saving > most and own.thread_time() < deadline:
                best, most = path, saving
    return best


def _told(seen, path, size, over, on_host):
    known = seen.name.facts
    facts = {key: known[key] for key in ("filled", "assigned", "kind") if known.get(key)}
    listed = Holders(0, None)
    if on_host:
        facts["host"] = True
    listed.add("%s: autograd graph of %s outputs" % (path, seen.word), int(size), 1, facts)
    return [dict(entry, over_ms=round(over, 3)) for entry in listed.listed()]
