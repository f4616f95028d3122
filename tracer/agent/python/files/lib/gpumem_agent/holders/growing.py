"""What grows by itself: no array, and no container that has elements.

A buffer that is only ever written to, the memo of a pickler, a database in memory are one
object each; modules that a program makes and what it registers for its end are in lists of
the interpreter's. Each is told when it was larger at each look, by as much as came since
the first of these.

Sizes are asked of C functions alone, past the program's own classes. What SQLite takes is
its own figure, of all its connections.
"""

import functools
import heapq
import io
import itertools
import operator
import sys
import types

from gpumem_agent import atomic, imports
from gpumem_agent.holders import contents, sparse
from gpumem_agent.holders.fillers import DATABASE, FOR_THE_END, MADE_MODULES, SPARSE, THREADS, Filler
from gpumem_agent.holders.kinds import is_a, is_library, module_names, namespace
from gpumem_agent.holders.living import SOME
from gpumem_agent.holders.naming import WEIGHTY
from gpumem_agent.holders.texts import module_file
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

END_PATH, THREAD_PATH = "callbacks of atexit.register", "dict threading._active"
MOST = 64  # objects that are asked
MOST_EMBEDDINGS = 128
TRIES, PAUSE = 8, 0.01  # of seconds between them
MANY = {END_PATH: 100, THREAD_PATH: SOME}  # of whose bytes nothing is known
SAMPLE = 32  # elements of a list of the interpreter's, the latest, that are weighed
NEWEST = 512  # entries of a memo that are weighed
MOST_MEMO = 1 << 17  # entries of a memo that is copied to be weighed
ENTRY = 16  # bytes of a memo's table for each
FULL = 2 / 3  # of that table, at most
WORD = 8  # bytes of a queue's place for an element
GRADIENT = "gradient of a Parameter of "  # before the path of an embedding
ON_DEVICE = "on_device"  # a fact that is told to nobody
CODE = 1 << 10  # bytes that a class or a function takes, at least
OBJECTS = 500  # of a module, that are weighed


def kinds():
    """The types of the objects that are asked, as far as the program has them."""
    own_kinds = bytearray, io.BytesIO, io.StringIO, _pickler(), _connection(), _simple_queue()
    return (*filter(None, own_kinds), *sparse.kinds())


def _pickler():
    return getattr(sys.modules.get("_pickle"), "Pickler", None)


def _connection():
    return getattr(sys.modules.get("_sqlite3"), "Connection", None)


def _simple_queue():
    """The type of queues that have their elements in no list, as from 3.13 on."""
    return getattr(sys.modules.get("_queue"), "SimpleQueue", None) if sys.version_info >= (3, 13) else None


def add(holders, reach, before, more, on_host=True):
    """Adds what grew since it was noted before, as {key: (bytes and number at first, when,
    those at the last look)}. Returns the same as of now. More are facts of each. Not on the host
    only gradients are asked, which may be on a device."""
    # Of what nobody may look at now, or is not asked for, the next look knows what was there.
    embeddings = _embeddings(reach)
    kept = (key for key in before if not on_host or type(key) is tuple and key[0] in embeddings)
    after, some = {key: before[key] for key in kept}, {}
    for key, size, path, count, facts in _measured(reach, before) if on_host else _told(reach, embeddings):
        now = size, count
        first, when, last = before.get(key, (now, own.monotonic(), now))
        if now < last:
            first, when = now, own.monotonic()
        after[key] = first, when, now
        if now > last:
            some.setdefault(path, []).append((size - first[0], count - first[1], when, size, facts))
    for path, gains in some.items():
        # Texts of a logger's handlers may each be small: what has one path is told together.
        came, more_of_them = sum(g[0] for g in gains), max(g[1] for g in gains)
        asked, every = _of_like(path, reach)
        if len(gains) >= asked / 2:  # they are most of those that were asked, and stand for all
            came = int(came * max(1, every / asked))
        if came >= WEIGHTY or not gains[0][3] and more_of_them >= MANY.get(path, 1):
            facts = gains[0][4]
            beside = {} if facts.pop(ON_DEVICE, False) else more
            told = {**facts, "since": min(g[2] for g in gains), **beside}
            holders.add(path, came, max(len(gains), more_of_them), told)
    return after


def _of_like(path, reach):
    """How many objects are asked at most, of those that one with a path is of, and how many there are."""
    embeddings = sum(1 for _ in _all_embeddings(reach))
    if path.startswith(GRADIENT):
        return MOST_EMBEDDINGS, embeddings
    return MOST, len(list(reach.singles())) - embeddings


def registered(sizes):
    """How many callbacks for the end came since they were noted first, of what add returns."""
    first, _, now = sizes.get(END_PATH, ((0, 0), 0, (0, 0)))
    return now[1] - first[1]


def _measured(reach, before):
    """Each with a key, its bytes, a path, a number of elements, and facts."""
    known = {key[0] for key in before if type(key) is tuple}
    embeddings = _embeddings(reach)
    every = set(_all_embeddings(reach))
    others = sorted((i for i in reach.singles() if i not in every), key=lambda i: i not in known)
    yield from _told(reach, [*embeddings, *others[:MOST]])
    for path, filled, number in ((END_PATH, FOR_THE_END, _for_the_end()), (THREAD_PATH, THREADS, _threads())):
        if number:
            yield path, 0, path, number, {"filled": (Filler(filled, "", True),), "length": number}
    with paused():
        own.sleep(0)
        made = _made_modules()
        number, (first, _, last) = len(made), before.get("modules", ((0, len(made)), 0, (0, len(made))))
        # They are weighed when there are more.
        size = last[0] if number == last[1] else _weighed(made, number - first[1])
    facts = {"filled": (Filler(MADE_MODULES, "", True),), "length": number}
    yield "modules", size, "dict sys.modules", number, facts


def _embeddings(reach):
    """The identities of a program's embeddings; most have one or two, some one for each feature."""
    return list(itertools.islice(_all_embeddings(reach), MOST_EMBEDDINGS))


def _all_embeddings(reach):
    wanted = atomic.family(sparse.kinds())
    return (identity for identity, kind in reach.singles().items() if kind in wanted)


def _told(reach, chosen):
    """The same of some objects. What is busy is asked again a moment later."""
    for attempt in range(TRIES if chosen else 0):
        if attempt:
            own.sleep(PAUSE)
        found = reach.named(chosen, _asked)
        for identity, told in found.items():
            if told is not None and told is not sparse.BUSY:
                yield (identity, told[1]), *told[:1], *told[2:]
        chosen = [identity for identity, told in found.items() if told is sparse.BUSY]
        if not chosen:
            break


def _asked(path):
    """(bytes, type, path, number, facts) of the object at the end of a path."""
    item = path.chain[-1]
    if is_a(item, sparse.kinds()):
        return _gradient(path, item)
    try:
        size, facts = _size(item), path.facts()
    except Exception:
        return None  # closed, or never opened
    if size is None:
        return None
    if not is_a(item, _simple_queue() or ()):
        facts.pop("kind", None)
    if is_a(item, _connection() or ()):
        facts["filled"] = (Filler(DATABASE, "", True),)
    return size, type(item).__name__, path.of_kind(), 1, facts


def _gradient(path, module):
    try:
        told = sparse.size(module)
    except Exception:
        return None  # of a class of the program's that refuses
    if told is None or told is sparse.BUSY:
        return told
    facts = {"kind": sparse.KIND, "filled": (Filler(SPARSE, "", True),), ON_DEVICE: not told[1]}
    return told[0], type(module).__name__, GRADIENT + path.of_kind(), 1, facts


def _size(item):
    if is_a(item, bytearray):
        return bytearray.__sizeof__(item)
    if is_a(item, io.BytesIO):
        return io.BytesIO.__sizeof__(item)
    if is_a(item, io.StringIO):
        return io.StringIO.tell(item)
    if is_a(item, _pickler() or ()):
        return _of_pickler(item)
    if is_a(item, _simple_queue() or ()):
        return _of_queue(item)
    used = _memory_used()
    return used() if used is not None else None


def _of_pickler(item):
    """Bytes of a pickler's memo and of what it keeps, by the mean of what is weighed."""
    size = _pickler().__sizeof__(item)
    entries = int(size // ENTRY * FULL)
    if entries > MOST_MEMO:
        return size + int(entries * _mean_of_memo(id(item)))
    memo = _pickler().memo.__get__(item).copy()
    each = _newest(memo) if len(memo) > SOME else 0.0
    _mean_of_memo(id(item), each)
    return size + int(len(memo) * each)


def _of_queue(item):
    """Bytes of a queue's elements, by the mean of some of them."""
    number, some = _simple_queue().qsize(item), atomic.referents(item)[:NEWEST]
    each = contents.together(some, set(module_names())) / len(some) if number > SOME and some else 0.0
    return int(number * (WORD + each))


def _newest(memo):
    """Bytes that an entry of a memo keeps, by the mean of the newest. They are weighed together:
    a dictionary has an entry, and each array in it has one."""
    newest = heapq.nlargest(NEWEST, memo.values(), key=operator.itemgetter(0))
    return contents.together([kept for _, kept in newest], set(module_names())) / len(newest)


_means = {}  # of picklers, by identity, at the last look at which their memo was small


def _mean_of_memo(identity, each=None):
    if each is not None:
        if len(_means) > MOST:
            _means.clear()
        _means[identity] = each
    return _means.get(identity, 0.0)


@functools.lru_cache(maxsize=1)
def _memory_used():
    """SQLite's function that tells what it takes, or None."""
    try:
        native = imports.bring("gpumem_agent.native").Native()
        return native.of_library(sys.modules["_sqlite3"].__file__, "sqlite3_memory_used")
    except (ImportError, OSError, AttributeError, KeyError, TypeError):
        return None


def _for_the_end():
    """How many functions atexit has registered. What they keep is hidden from 3.10 on, so
    that no bytes of it are told."""
    return getattr(sys.modules.get("atexit"), "_ncallbacks", int)()


def _threads():
    """How many threads of Python's own run."""
    return len(getattr(sys.modules.get("threading"), "_active", ()))


def _made_modules():
    """The modules with a name in sys.modules that no import has made, but those that libraries
    have below their own names."""
    made = [(n, m) for n, m in list(sys.modules.items()) if type(m) is types.ModuleType and _is_made(m)]
    return [m for name, m in made if type(name) is not str or not _is_of_library(name)]


def _is_of_library(name):
    file = module_file(name.partition(".")[0])
    return bool(file) and is_library(file)


def _weighed(modules, number):
    """Bytes of so many of some modules, by the mean of the latest."""
    some, seen = modules[-SAMPLE:], set(module_names())
    return int(number * sum(_of_module(m, seen) for m in some) / max(1, len(some)))


def _is_made(module):
    names = namespace(module)
    return names.get("__spec__") is None and names.get("__name__") != "__main__"


def _of_module(module, seen):
    """Bytes of a module's names, with its functions and classes, that nobody saw yet."""
    pending, size, most = [namespace(module)], 0, len(seen) + OBJECTS
    while pending and len(seen) < most:
        names = pending.pop()
        size += sys.getsizeof(names) if type(names) is dict else 0
        for value in list(names.values()):
            if id(value) in seen:
                continue
            if is_a(value, type):
                size += CODE
                pending.append(namespace(value))
            elif is_a(value, types.FunctionType):
                code = value.__code__
                size += CODE + sum(map(contents.size, (code.co_code, *code.co_consts)))
            elif not is_a(value, types.ModuleType):
                size += contents.together([value], seen)
            seen.add(id(value))
    return size
