"""What the elements of a container take beyond themselves: a list of tasks is
small, and each task may keep a buffer.

All of it runs no code of the program's: an object of a type that is not the
interpreter's own counts with the size of its type, and its __sizeof__ is not asked.
Told are the identities of arrays that have a holder of their own: those are not weighed again.
"""

import array
import collections
import gc
import io
import itertools
import sys
import types

from gpumem_agent import atomic
from gpumem_agent.holders import capsules, hostarrays
from gpumem_agent.holders.downward import LEAVES
from gpumem_agent.holders.kinds import NAMED, is_a, module_names

ELEMENTS = 64  # that are looked below, the latest
OBJECTS = 2000  # below all of them
EACH = 400  # below one of them
WHOLE = 4000  # below one that is looked at to its end, where most have more than that
WHOLES = 1  # containers of such elements in a look
WORD = 8  # bytes
MANY = 32  # elements of a container below, from which some stand for all
# Types whose objects know their own size.
SIZED = (
    *(bytes, bytearray, str, list, dict, set, frozenset, tuple),
    *(array.array, collections.deque, io.BytesIO),
    *(collections.OrderedDict, collections.defaultdict, collections.Counter),
)
KNOWN = set(map(id, SIZED))
# Of a type, without asking its metaclass.
BASIC_SIZE = type.__dict__["__basicsize__"].__get__
DICT_AT = type.__dict__["__dictoffset__"].__get__
# What is below these is not the element's alone: the program's code.
SHARED = set(map(id, LEAVES)) - set(map(id, (*SIZED, int, float, complex)))


class Wholes:
    """How many times more in a look an element is looked at to its end."""

    def __init__(self):
        self._left = WHOLES

    def take(self):
        """Whether it may be done once more."""
        self._left -= 1
        return self._left >= 0


def deeper(container, told=(), wholes=None):
    """Bytes that an element of a container takes below itself, by the mean of those that
    came last. What several of them refer to counts once, and what the first element
    refers to as well not at all: it is not theirs."""
    recent, oldest = latest(container), first(container)
    seen = _seen(container, oldest, EACH, told) if len(recent) > 1 else _seen(container)
    if oldest is not None and len(recent) > 1:
        recent = [element for element in recent if element[0] != oldest[0]]
    sizes, left, cut = [], OBJECTS, 0
    for _, roots in recent:
        if left <= 0:
            break
        below, visited = _below(roots, seen, EACH, SHARED, told)
        sizes.append(below)
        left -= visited
        cut += visited >= EACH
    mean = sum(sizes) / max(1, len(sizes))
    if cut > len(sizes) / 2 and wholes is not None and wholes.take():
        seen = _seen(container, oldest, WHOLE, told)
        return max(mean, _below(recent[0][1], seen, WHOLE, SHARED, told)[0])
    return mean


def _seen(container, oldest=None, most=0, told=()):
    """Identities of what is none of the elements' own: what is so far below the oldest."""
    seen = {id(container)} | set(module_names())
    if oldest is not None:
        _below(oldest[1], seen, most, SHARED, told)
    return seen


def apart(items, kind, weigh=None):
    """Bytes that one of some objects of a class takes with what is below it, up to others
    of the class: the mean, but for the first one, to which what they share is counted. Or
    what of that some other function weighs alone, as arrays of a device."""
    seen, sizes, ends = set(module_names()), [], SHARED | {id(kind)}
    for item in items:
        below, _ = _below([item], seen, EACH, ends, (), weigh or size)
        # The collector's own head, and attributes that have no dictionary yet.
        names = 2 + len(atomic.referents(item)) if DICT_AT(type(item)) else 0
        own = size(item) + 2 * WORD + WORD * names if weigh is None else 0
        sizes.append(own + below)
    return sum(sizes[1:]) / max(1, len(sizes) - 1)


def together(items, seen):
    """Bytes of some objects with what is below them that nobody saw yet."""
    below, _ = _below(items, seen, OBJECTS)
    return below + sum(map(size, items))


def below(roots, seen, most):
    """Adds what is below some objects to seen, up to a number of objects, and weighs none."""
    _below(roots, seen, most, weigh=lambda *_: 0)


def alone(item):
    """Bytes of an object that the collector tracks, and of those below it that it does
    not track: strings, numbers and buffers."""
    below = atomic.referents(item)
    leaves = [o for o in below if not gc.is_tracked(o) and id(type(o)) not in SHARED]
    return size(item) + sum(map(size, leaves))


def latest(container):
    """Some elements of a container, those that came last where it has an order: pairs of
    the identity of each (of its key in a dictionary) and the objects that it is (a key and
    its value)."""
    if is_a(container, dict):
        # Up to 3.7 a dictionary has no reverse; the first ones do then.
        items = dict.items(container)
        last = getattr(items, "__reversed__", items.__iter__)
        pairs = list(itertools.islice(last(), ELEMENTS))  # at once: others change it
        return [(id(pair[0]), pair) for pair in pairs]
    if is_a(container, (list, tuple, collections.deque)):
        some = list(itertools.islice(reversed(container), ELEMENTS))
    else:
        some = list(itertools.islice(container, ELEMENTS))
    return [(id(element), (element,)) for element in some]


def first(container):
    """The first element likewise; None of an empty container."""
    if is_a(container, dict):
        return next(((id(pair[0]), pair) for pair in dict.items(container)), None)
    return next(((id(element), (element,)) for element in container), None)


def _referents(item, told=()):
    """What an object refers to, with the memory that an array is of, unless that is told as an
    array, with its memory."""
    shown = hostarrays.base(item)
    if shown is None:
        return atomic.referents(item)
    return [] if id(item) in told else [shown]


def _is_bound(item):
    """Whether an object is a method, written in C, of another one: it keeps that, as what
    wakes a task does."""
    if type(item) is not types.BuiltinFunctionType:
        return False
    return item.__self__ is not None and not is_a(item.__self__, (type, types.ModuleType))


def size(item, told=()):
    """Bytes of an object without what it refers to."""
    kind = id(type(item))
    if id(item) in told:
        return BASIC_SIZE(type(item))
    native = _native(item)
    if native is not None:
        return native
    return sys.getsizeof(item) if kind in KNOWN or kind == _array_kind() else BASIC_SIZE(type(item))


def _native(item):
    """Bytes of an object that has them outside of Python: one of ctypes, a mapping, a
    capsule with an array, a tensor of the host, or a text that is written to: a byte for each
    letter, as of most."""
    if capsules.is_capsule(item):
        return capsules.size(item)
    shown = hostarrays.base(item)
    if shown is not None:
        return hostarrays.shown_bytes(item) if _tells_nothing(shown) else None
    bytes_of_tensor = hostarrays.size(item)
    if bytes_of_tensor is not None:
        return bytes_of_tensor + BASIC_SIZE(type(item))
    ctypes, mapping = sys.modules.get("_ctypes"), sys.modules.get("mmap")
    try:
        if ctypes is not None and is_a(item, ctypes._SimpleCData.__mro__[1]):
            return ctypes.sizeof(item) + BASIC_SIZE(type(item))
        if mapping is not None and is_a(item, mapping.mmap):
            return mapping.mmap.__len__(item)
        if is_a(item, io.StringIO):
            return io.StringIO.tell(item) + BASIC_SIZE(type(item))
    except Exception:
        pass  # one that is closed
    return None


def _tells_nothing(item):
    """Whether an object neither has a size that is known nor refers to anything that may have: a
    library's own memory, behind a capsule, or what CuPy has pinned, whose parts tell nothing."""
    if hostarrays.is_pinned(item):
        return True
    if id(type(item)) in KNOWN or id(type(item)) == _array_kind():
        return False
    return _native(item) is None and not atomic.referents(item)


def _array_kind():
    """The identity of NumPy's array: it knows its own size, and what it has is in no other
    object's. A program may import it at any time."""
    return id(getattr(sys.modules.get("numpy"), "ndarray", None))


def _below(roots, seen, most, ends=SHARED, told=(), weigh=size):
    """(bytes below some objects that nobody saw yet, objects that were visited), up to
    objects of types that end the search."""
    total, visited = 0.0, 0
    pending = collections.deque((root, 1.0) for root in roots if id(root) not in seen)
    seen.update(map(id, roots))
    while pending and visited < most:
        item, times = pending.popleft()
        children = _referents(item, told)
        every = 1 if len(children) <= MANY else len(children) // MANY
        times *= len(children) / max(1, len(children[::every]))
        for child in children[::every]:
            if id(child) in seen or is_a(child, type) or id(type(child)) in ends and not _is_bound(child):
                continue
            seen.add(id(child))
            visited += 1
            total += times * weigh(child, told)
            if is_a(child, NAMED[:1]):  # below a function is the program, but for what is its own
                own = (*(child.__closure__ or ()), *(child.__defaults__ or ()))
                pending.extend((item, times) for item in own if id(item) not in seen)
            else:
                pending.append((child, times))
    return total, visited
