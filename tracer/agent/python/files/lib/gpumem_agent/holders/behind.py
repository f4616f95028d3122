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

SECONDS = 0.06  # to count operations
MOST = 30000  # of these behind one output
DEEP = 10000  # that are no step's, though they could not all be counted
PART = 0.02  # seconds, for one output
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
        self._before = {}  # {path: (operations, whether these are all, elements)}
        self._held = None  # bytes then
        self._at = 0.0

    def look(self, frameworks, explained, heap):
        """Looks which graphs have grown since the look before. Called on the thread that
        uses the frameworks."""
        self.told = []
        if len(threads.teller()()) > THREADS:
            self._before = {}
            return
        active = [f for f in frameworks if f.active()]
        held = total(f.live_bytes() for f in active) if active else heap
        now, before, at = own.monotonic(), self._before, self._at
        names, self._before = _counted(frameworks), {}
        for path, (_, operations, whole, length, _) in names.items():
            self._before[path] = operations, whole, length
        came = 0 if None in (held, self._held) else held - self._held - explained
        self._held, self._at = held, now
        grown = _grown(names, before)
        if came >= HEAP_BYTES and grown:
            self.told = _told(names, grown, came, 1000 * (now - at))


def _counted(frameworks):
    """{path: (its Name, operations behind one output there, whether these are all, elements,
    the last operation)}."""
    reach = Reach([kind for f in frameworks for kind in f.types()])
    owners = {}
    for framework in frameworks:
        for identity, reference in reach.arrays().items():
            array = framework.alive(reference)
            if array is not None and framework.has_graph(array):
                owners.setdefault(identity, (framework, reference))
            del array
    chosen = list(owners)
    chosen = chosen[:FIRST] + chosen[FIRST:][:: max(1, len(chosen[FIRST:]) // OTHERS)]
    found, deadline = {}, own.monotonic() + SECONDS
    for identity, name in reach.named(chosen).items():
        path = name.text if name.container is None else name.of_container
        framework, reference = owners[identity]
        array = framework.alive(reference)
        if path in found or array is None or own.monotonic() >= deadline:
            continue
        told = framework.operations(array, MOST, min(deadline, own.monotonic() + PART))
        if told is not None:
            found[path] = (name, *told[:2], name.facts.get("length", 0), told[2])
        del array
    return found


def _grown(names, before):
    """The paths whose graphs have grown. Of those with more behind one output, of which
    some are made from others, that is an attribute or in a container rather than a
    variable, a sum rather than what is made from it, and has least behind it."""
    carried, gathered = {}, []
    for path, (name, operations, _, length, word) in names.items():
        if path not in before:
            continue
        earlier, whole, shorter = before[path]
        least = max(GREW * earlier, earlier + LEAST) if whole else DEEP
        if operations >= least and (whole or earlier >= DEEP):
            is_plain = name.container is None and LOCAL.search(path) is not None
            carried[path] = is_plain, not word.startswith("Add"), operations
        elif operations >= FEW and length >= shorter + MORE:
            gathered.append((length - shorter, path))
    if carried:
        most = max(operations for _, _, operations in carried.values())
        return min((rank, path) for path, rank in carried.items() if 2 * rank[-1] >= most)[1]
    return max(gathered)[1] if gathered else None


def _told(names, path, size, over):
    name, word = names[path][0], names[path][-1]
    facts = {key: name.facts[key] for key in ("filled", "assigned", "kind") if name.facts.get(key)}
    listed = Holders(0, None)
    listed.add("%s: autograd graph of %s outputs" % (path, word), int(size), 1, facts)
    return [dict(entry, over_ms=round(over, 3)) for entry in listed.listed()]
