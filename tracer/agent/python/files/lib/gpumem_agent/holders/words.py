"""In the words of the catalogue of causes why a container is kept, as far as what it has and what it
hangs on tell: exceptions, futures, timers, records of a log, the elements of a queue.
"""

import collections
import functools
import itertools
import sys
import types

from gpumem_agent.holders.capsules import is_capsule
from gpumem_agent.holders.kinds import (
    BASES_OF_CLASS,
    NAMES_OF_CLASS,
    NO_ARRAYS,
    SEQUENCES,
    is_a,
    is_executor,
    is_future,
    is_library,
    is_named,
    is_thread,
    namespace,
)

OF_TIMER = 2  # references from one to what it would call, and with what
QUEUES = {"queue", "asyncio.queues"}
OF_QUEUE = 2  # references from one to its elements
IN_EXECUTOR = 3  # references from one to the list of its work, which its queue has up to 3.12
SCHEDULES = {"sched"}
TIMERS = {"asyncio.events", "threading"}
ELEMENTS = (list, set, tuple, collections.deque, dict)
CALLBACKS = (types.FunctionType, types.MethodType, functools.partial)
LOOKED_AT = 4  # elements of a container, to tell what they are
TABLES = (dict, collections.defaultdict, collections.OrderedDict)
RECORD = 16  # entries of a dictionary that stands for an object, at most
LOGGING = (
    ("LogRecord", "log-records-kept"),
    *((name, "loggers-added") for name in ("Logger", "PlaceHolder", "Handler", "Filter")),
)


def kind_of(chain, at):
    """In the words of the catalogue why the container at a place of a chain of
    references is kept, where what is on the chain tells; None of all others."""
    if any(is_a(item, types.TracebackType) for item in chain):
        return "tracebacks-kept"
    kind = elements_of(chain[at])
    if kind == "loggers-added" and "log-records-kept" in map(elements_of, chain[at + 1 :]):
        return "log-records-kept"  # the handlers are few, and one keeps what it is given
    if kind is None and at + 1 < len(chain):
        kind = _held_in(chain[at + 1])
    if kind is None and any(is_executor(item) for item in chain[max(0, at - IN_EXECUTOR) : at + 1]):
        kind = "unbounded-queue/executor"
    if kind is None:
        kind = next((word for item in chain[max(0, at - 1) : at + 1] for word in of_c(item)), None)
    if kind is None and any(is_a(item, itertools.cycle) for item in chain[max(0, at - 1) : at + 1]):
        kind = "results-kept/cycle"
    if kind is None and any(_is_timer(item) for item in chain[max(0, at - OF_TIMER) : at]):
        kind = "timers-left"
    if kind is None and any(_is_queue(item) for item in chain[max(0, at - OF_QUEUE) : at]):
        kind = "unbounded-queue"  # one with a bound is told with it
    return kind


def of_c(item):
    """In the same words what an object of a module of C keeps: a SimpleQueue has no bound, and a
    pickler remembers all that it has pickled."""
    if is_a(item, getattr(sys.modules.get("_queue"), "SimpleQueue", ())):
        yield "unbounded-queue"
    if is_a(item, getattr(sys.modules.get("_pickle"), "Pickler", ())):
        yield "pickler-memo-kept"


def elements_of(container):
    """In the words of the catalogue of causes what the latest elements of a container
    are, where that tells why it is kept; None for all others."""
    if is_a(container, dict):
        some = list(itertools.islice(dict.values(container), LOOKED_AT))
    elif is_a(container, SEQUENCES):
        some = list(itertools.islice(_each(container), LOOKED_AT))
    else:
        return None
    told = {_kind_of(element) for element in some}
    return told.pop() if len(told) == 1 else None


def _each(container):
    """An iterator of the elements of a sequence, past what a class of the program's makes of it."""
    return next(plain for plain in SEQUENCES if is_a(container, plain)).__iter__(container)


def _held_in(element):
    """In the same words of a container that an element of another is, as handlers are by their topics, and futures
    by what they are for. A set of the program's objects has who is there."""
    if type(element) is set and of_things(element):
        return "sessions-kept"
    if type(element) is tuple:  # beside a number or a name, of when or of whom it is
        element = [item for item in itertools.islice(element, LOOKED_AT) if not is_a(item, NO_ARRAYS)]
    kind = elements_of(element) if any(type(element) is plain for plain in ELEMENTS) else None
    return kind if kind in ("callbacks-left", "futures-kept") else None


def by_object(dictionary):
    """Whether the keys of a dictionary are objects of the program's classes, each equal to itself
    alone: nobody finds an entry again who has lost the object, which the entry keeps."""
    keys = list(itertools.islice(dict.keys(dictionary), LOOKED_AT))
    return bool(keys) and all(_is_itself(type(key)) for key in keys)


def _is_itself(kind):
    bases = (base for base in BASES_OF_CLASS(kind) if base is not object)
    if any(name in NAMES_OF_CLASS(base) for base in bases for name in ("__hash__", "__eq__")):
        return False
    return _is_programs(kind)


def of_things(container):
    """Whether the values of a dictionary, or what a set has, are objects of the program's classes, and no tuples,
    or dictionaries that stand for such. Of a dictionary of dictionaries, whether the values of these are."""
    every = dict.values(container) if is_a(container, dict) else _each(container)
    values = list(itertools.islice(every, LOOKED_AT))
    tables = [value for value in values if type(value) in TABLES and not _is_record(value)]
    if tables and len(tables) == len(values):
        some = [list(itertools.islice(dict.values(table), LOOKED_AT)) for table in tables]  # at once: others change it
        values = list(itertools.chain.from_iterable(some))
    return bool(values) and all(map(_is_thing, values))


def _is_thing(value):
    if type(value) in TABLES:
        return _is_record(value)
    return not is_a(value, tuple) and _is_programs(type(value))


def _is_record(value):
    """Whether a dictionary is what an object with a few attributes would be: their names, and values of
    several types. What has one type is a table, such as the weights of a model by their names."""
    some = list(itertools.islice(dict.items(value), RECORD + 1))
    named = all(type(name) is str for name, _ in some)
    return named and len(some) <= RECORD and len({id(type(item)) for _, item in some}) > 1


def _is_programs(kind):
    """Whether a class is of the program, and no library's."""
    module = sys.modules.get(type.__getattribute__(kind, "__module__"))
    file = namespace(module).get("__file__") if is_a(module, types.ModuleType) else None
    return type(file) is str and not is_library(file)


def _kind_of(element):
    if is_a(element, BaseException):
        return "tracebacks-kept"
    if is_future(element):
        return "futures-kept"
    if is_capsule(element):
        return "exports-kept"
    if _is_timer(element):
        return "timers-left"
    if is_a(element, CALLBACKS):
        return "callbacks-left"
    if is_thread(type(element)) and _has_ended(element):
        return "threads-left/ended"
    return logging_kind(type(element))


def _is_timer(item):
    kind = type(item)
    return is_named(kind, ("TimerHandle", "Timer"), TIMERS) or is_named(kind, ("Event",), SCHEDULES)


def _is_queue(item):
    return is_named(type(item), ("Queue",), QUEUES)


def kind_of_class(class_):
    """In the same words why objects of a class are kept, where the class tells; None of others."""
    if issubclass(class_, BaseException):
        return "tracebacks-kept"
    return "threads-left" if is_thread(class_) else logging_kind(class_)


def logging_kind(class_):
    """In the same words why objects of a class of the logging module's are kept; None of others."""
    logging = sys.modules.get("logging")
    return next((kind for name, kind in LOGGING if issubclass(class_, getattr(logging, name, ()))), None)


def _has_ended(thread):
    """Whether a thread was started, and runs no more."""
    own, running = namespace(thread), getattr(sys.modules.get("threading"), "_active", {})
    number = own.get("_ident") if is_a(own, dict) else None
    return number is not None and running.get(number) is not thread
