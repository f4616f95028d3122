"""Looks at the interpreter's objects between two of its bytecodes.

gc.get_objects and gc.get_referrers answer with lists that keep alive what is in
them. As long as Python code holds such a list, other threads run in between,
and two things happen that no program is prepared for:

* PyTuple_New shows a tuple to the collector before its elements are there.
  tuple(generator), and C code that fills one by PyTuple_SetItem, go on with it
  only if its reference count is 1, and raise SystemError if it is ours, too
  (Objects/tupleobject.c and abstract.c, 3.8 to 3.13).
* What the program drops meanwhile ends with our list, on our thread: finalizers,
  locks, a window toolkit's handles, a CUDA graph in the midst of the capture of
  another. All of these were seen to break programs.

To look on the program's own thread instead would not do: a pending call of the
interpreter (Py_AddPendingCall), a signal handler and gc.callbacks run there, but
other threads go on, and what a framework keeps by thread (modes, transforms, a
compiler that takes the frames of its thread) would take our code for the
program's. What is behind outputs of autograd is read there all the same, since
it changes in C++ (errands); objects are not.

So the look is one call of a C function that calls only C functions (once). The
interpreter's lock changes hands, and signal handlers, pending calls and, from
3.12 on, garbage collections run, nowhere but in the evaluation loop and around
system calls that wait; up to 3.11 allocations collect garbage, too, so that is
off meanwhile. What is kept afterwards are identities, types (which never end by
their last reference: each is part of a cycle of its own) and weak references.
Types are told by key where the hash of one may be code of a metaclass. What is left is an audit hook written in Python, as filelock has one, and with it what uses it:
the collector's functions call it, and id. Then no thread is given its turn (see
once), and what all objects are asked is what no hook is told of.

Without the interpreter's lock (free threading), and in other interpreters, none
of this holds: POSSIBLE says where it does.
"""

import collections
import functools
import gc
import itertools
import operator
import sys

from gpumem_agent.own import own
from gpumem_agent.sampling import paused

BITS = sys.maxsize.bit_length() + 1  # of an address
MASK = (1 << BITS) - 1
TRIED = 200  # calls of id, to see how long they take
LONGER = 1.6  # times as long as what no hook is told of: 2.3 to 5 were measured, .6 to .9 without
POSSIBLE = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
MODULE = type(sys)
call = operator.methodcaller("__call__")
# Of an object, a number that no other has as long as it lives. The same from id is told to each
# audit hook: one in Python would run hundreds of thousands of times in a look.
key = object.__hash__
drain = functools.partial(collections.deque, maxlen=0)


def once(*steps):
    """Calls the steps one after the other, without a bytecode in between. Each
    is a C function bound to its arguments; iterators among these are consumed in
    the course of it, and so may read what an earlier step filled. Lists of the
    program's objects must be empty again after the last.

    Beside an audit hook of Python's no other thread is given its turn meanwhile: one that
    waits for it began to do so when we last gave it up, as whoever has paused them does, too."""
    if paused.is_on() or not is_told():
        return _once(steps)
    with paused():
        own.sleep(0)
        return _once(steps)


def without_collections(work):
    """Calls work while no garbage is collected and no other thread of Python's runs, which would
    see that: what it makes would set off collections that take longer than itself. It shall take
    but some milliseconds."""
    with paused():
        own.sleep(0)
        was_on = gc.isenabled()
        try:  # first: a signal's handler may raise right behind the next call
            gc.disable()
            work()
        finally:
            if was_on:
                gc.enable()


def is_told():
    """Whether id takes as long as where an audit hook of Python's is told of it: nobody says
    whether there is one."""
    some, taken = [None] * TRIED, []
    for asked in (id, key) * 5:  # on a busy machine some take longer
        begun = own.perf_counter()
        drain(map(asked, some))
        taken.append(own.perf_counter() - begun)
    return min(taken[0::2]) > LONGER * min(taken[1::2])


def _once(steps):
    enabled = []
    before = (fill(enabled, map(call, (gc.isenabled,))), gc.disable)
    after = (functools.partial(drain, map(call, itertools.compress((gc.enable,), enabled))),)
    try:
        drain(map(call, before + steps + after))
    except BaseException:
        if enabled and enabled[0]:
            gc.enable()
        raise


def fill(list_, items):
    """A step that adds items to a list."""
    return functools.partial(list_.extend, items)


def everything(box):
    """A step that puts one list of all objects that are tracked into box."""
    return fill(box, map(gc.get_objects, (None,)))


def younger(box):
    """The same, of those that the collector does not take for old yet."""
    return fill(box, map(gc.get_objects, (0, 1)))


def each(box):
    """What is in the lists of a box."""
    return itertools.chain.from_iterable(box)


def empty(*boxes):
    """A step that empties the lists in boxes. To let go of a list would not do:
    an iterator that has not seen its end still holds it."""
    return functools.partial(drain, map(list.clear, itertools.chain.from_iterable(boxes)))


def types_of(items):
    """Keys of the types of items."""
    return map(key, map(type, items))


def keys(kinds):
    """Keys of some types."""
    return set(map(key, kinds))


def identities(some):
    """What id says of the objects with some keys. A key is the address, its last four bits first, as a
    number with a sign (_Py_HashPointer)."""
    return [(k << 4 | (k & MASK) >> BITS - 4) & MASK for k in some]


def keys_of(some):
    """The keys of the objects with some identities."""
    turned = [(i >> 4 | i << BITS - 4) & MASK for i in some]
    return [k - MASK - 1 if k >> BITS - 1 else k for k in turned]


def among(identities, wanted):
    """For each identity or key, whether it is wanted."""
    return map(wanted.__contains__, identities)


def no_modules(items):
    """For each item, whether it is no module. Those of C are never asked what they refer to:
    until 3.12.5 _asyncio answered with objects that it had freed, which it so frees twice, and
    from then on the collector runs in a circle (python/cpython#122695). What is of use, a
    module's namespace, is tracked by itself."""
    return map(operator.not_, among(types_of(items), {key(MODULE)}))


def referents(item):
    """What an object refers to; of a module its namespace, see no_modules."""
    return [item.__dict__] if type(item) is MODULE else gc.get_referents(item)


def neither(ones, others):
    """For each pair of truths, whether both are false."""
    return map(operator.not_, map(operator.or_, ones, others))


def family(kinds):
    """Keys of types and of all their subclasses."""
    return set(families(kinds))


def families(kinds):
    """{key: type} of types and of all their subclasses."""
    found, pending = {}, list(kinds)
    while pending:
        kind = pending.pop()
        if key(kind) not in found:
            found[key(kind)] = kind
            pending.extend(type.__subclasses__(kind))
    return found
