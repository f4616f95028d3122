"""The variables of running functions, read without an effect on them.

From 3.13 on a frame's f_locals looks into the frame. Before, it is a dictionary
that stays in the frame: to read it makes it, or brings the one up to date that
the function got from locals(), and what it holds lives as long as the function.
So before 3.13 a function that names locals() is not read, nor one that is at an
eval or exec (whose code has that dictionary for its variables), nor any while a
debugger follows one (it writes such dictionaries back). The dictionary of
another is emptied in the same call that made it.
"""

import collections
import itertools
import operator
import sys
import weakref
from functools import partial

from gpumem_agent import atomic, threads
from gpumem_agent.holders.kinds import OWN_FOLDER, is_library, rank_of
from gpumem_agent.holders.local import Local

MOST = 4000  # calls of all threads below one another; outer ones are left out
LOOKS_IN = sys.version_info >= (3, 13)
# By which a function may get hold of its dictionary of variables.
NAMES = {"locals", "vars", "f_locals"}
# What a library is about to make has no name yet that a person would know.
CONSTRUCTORS = ("__init__", "__new__")
ALONE = 3  # references: the frame, a list of ours, the question
OPTIMIZED = 1  # of co_flags: else the variables are a namespace
code_of = operator.attrgetter("f_code")
back = operator.attrgetter("f_back")


class Variables:
    """What the functions of all threads hold at one moment. steps, which are
    to be part of one atomic.once, fill values and names."""

    def __init__(self):
        self.codes = []  # of the functions that were read
        self.names = []  # for each, the names of its variables
        self.values = []  # likewise, the values; emptied by the caller
        self.frames = []  # identities of their frames
        self.running = []  # likewise, of all, read or not
        self.readable = {}  # code by identity: of the functions that are read if they run
        self._frames, self._dictionaries = [], []

    def steps(self):
        self.readable = {i: code for i, code in _running().items() if _is_readable(code)}
        frames, held, read, lent = self._frames, self._dictionaries, [], set()
        codes = atomic.among(map(id, map(code_of, frames)), self.readable)
        apart = map(operator.not_, atomic.among(map(id, frames), lent))
        return (
            *_stacks(frames),
            atomic.fill(self.running, map(id, frames)),
            partial(lent.update, _lenders(frames)),
            atomic.fill(read, itertools.compress(frames, map(operator.and_, codes, apart))),
            atomic.fill(self.codes, map(code_of, read)),
            atomic.fill(self.frames, map(id, read)),
            atomic.fill(held, map(operator.attrgetter("f_locals"), read)),
            atomic.fill(self.names, map(list, held)),
            atomic.fill(self.values, map(list, map(operator.methodcaller("values"), held))),
            *self._emptied(),
            atomic.empty((frames, read, held)),
        )

    def _emptied(self):
        """Steps that empty the dictionaries that the reading made."""
        if LOOKS_IN:
            return ()
        counts, alone = [], []
        held = self._dictionaries
        return (
            atomic.fill(counts, map(sys.getrefcount, held)),
            atomic.fill(alone, itertools.compress(held, map(ALONE.__eq__, counts))),
            partial(atomic.drain, map(dict.clear, alone)),
            atomic.empty((alone,)),
        )


def named():
    """({identity of a value: its Local}, identities of the frames that were read,
    and of all that run)."""
    variables, identities, found = Variables(), [], {}
    values = variables.values
    atomic.once(
        *variables.steps(),
        atomic.fill(identities, map(list, map(partial(map, id), values))),
        atomic.empty(values),
    )
    calls = collections.Counter(map(id, variables.codes))
    for code, names, held in zip(variables.codes, variables.names, identities):
        for name, identity in zip(names, held):
            found[identity] = local(code, name, calls[id(code)])
    return found, set(variables.frames), set(variables.running)


def own(kinds):
    """Pairs of a Local and a weak reference: the variables of this thread's
    functions whose values are of some types."""
    wanted, mine = atomic.family(k for k in kinds if k.__weakrefoffset__), set()
    frame = sys._getframe(1)
    while frame is not None:
        mine.add(id(frame))
        frame = frame.f_back
    variables, chosen, weak = Variables(), [], []
    values = variables.values
    atomic.once(
        *variables.steps(),
        atomic.fill(chosen, atomic.among(atomic.types_of(atomic.each(values)), wanted)),
        atomic.fill(weak, map(weakref.ref, itertools.compress(atomic.each(values), chosen))),
        atomic.empty(values),
    )
    functions = zip(variables.frames, variables.codes, variables.names)
    named = [(frame, code, name) for frame, code, names in functions for name in names]
    found = zip(itertools.compress(named, chosen), weak)
    return [(local(code, name), ref) for (frame, code, name), ref in found if frame in mine]


def local(code, name, calls=1):
    """The root that a variable of a function is, of which so many calls run."""
    text = "%s() local %s" % (code.co_name, name)
    return Local(text, rank_of(code), name, code.co_filename, code.co_firstlineno, calls)


def pick(identities):
    """{identity: object} of those that are values of variables now."""
    variables, found = Variables(), []
    values = variables.values
    chosen = atomic.among(map(id, atomic.each(values)), identities)
    atomic.once(
        *variables.steps(),
        atomic.fill(found, itertools.compress(atomic.each(values), chosen)),
        atomic.empty(values),
    )
    return {id(value): value for value in found}


def now(wanted):
    """{key: object} of what some Locals refer to now: of several calls of a function the
    innermost."""
    if not wanted:
        return {}
    variables, found, chosen = Variables(), [], []
    values = variables.values
    atomic.once(
        *variables.steps(),
        atomic.fill(chosen, atomic.among(atomic.each(variables.names), {l.variable for l in wanted})),
        atomic.fill(found, itertools.compress(atomic.each(values), chosen)),
        atomic.empty(values),
    )
    functions = zip(variables.codes, variables.names)
    named = [(code.co_filename, code.co_firstlineno, name) for code, names in functions for name in names]
    keys, picked = {l.key() for l in wanted}, {}
    for key, item in zip(itertools.compress(named, chosen), found):
        if key in keys:
            picked.setdefault(key, item)
    return picked


def _running():
    """The code of the functions that run, by identity; none while a debugger follows one."""
    frames, codes, followed = [], [], []
    traced = map(operator.attrgetter("f_trace"), frames)
    atomic.once(
        *_stacks(frames),
        atomic.fill(codes, map(code_of, frames)),
        atomic.fill(followed, map(operator.is_not, traced, itertools.repeat(None))),
        atomic.empty((frames,)),
    )
    return {} if any(followed) and not LOOKS_IN else dict(zip(map(id, codes), codes))


def _is_readable(code):
    if not code.co_flags & OPTIMIZED or code.co_filename.startswith(OWN_FOLDER):
        return False
    if code.co_name in CONSTRUCTORS and is_library(code.co_filename):
        return False
    return LOOKS_IN or NAMES.isdisjoint(code.co_names)


def _lenders(frames):
    """Identities of the frames that called code with a namespace for variables:
    before 3.13 that of an eval or exec is the caller's dictionary."""
    if LOOKS_IN:
        return ()
    flags = map(operator.attrgetter("co_flags"), map(code_of, frames))
    namespaces = map(operator.not_, map(partial(operator.and_, OPTIMIZED), flags))
    return map(id, map(back, itertools.compress(frames, namespaces)))


def _stacks(frames):
    """Steps that fill in the frames of all threads, level by level."""
    box = []
    yield atomic.fill(box, map(atomic.call, (threads.teller(),)))
    yield atomic.fill(frames, atomic.each(map(dict.values, box)))
    yield partial(atomic.drain, map(dict.clear, box))
    # The list gets longer while it is read, until no frame has an outer one.
    yield atomic.fill(frames, itertools.islice(filter(None, map(back, frames)), MOST))
