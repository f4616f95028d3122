"""Kinds of objects, and questions to objects that run no code of theirs: a
proxy's answer to an innocent isinstance may load half a program."""

import collections
import functools
import gc
import itertools
import os
import sys
import types
import _thread

from gpumem_agent import atomic

SUSPENDED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
LRU_CACHE = type(functools.lru_cache(maxsize=1)(len))
NO_ARRAYS = (str, bytes, int, float, complex, type(None))
SEQUENCES = (list, tuple, set, frozenset, collections.deque)
TEE = type(itertools.tee(())[0])  # it keeps what the branch that is read last has yet to give
THREAD_LOCAL = _thread._local
CELL = type((lambda x: lambda: x)(0).__closure__[0])
ALONE = 3  # references: the frame, a variable of ours, the question
FUTURES = {"_asyncio", "asyncio.futures", "asyncio.tasks", "concurrent.futures._base"}
EXECUTORS = {"concurrent.futures._base", "multiprocessing.pool"}
THREADS = {"threading"}
NAMED = (types.FunctionType, type, types.FrameType, LRU_CACHE) + SUSPENDED
OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of all the agent
# What begins a path of ours: beside the agent are the module for programs and what starts us.
OWN = (
    OWN_FOLDER,
    os.path.join(os.path.dirname(OWN_FOLDER), "gpumem", ""),
    os.path.join(os.path.dirname(os.path.dirname(OWN_FOLDER)), "sitecustomize.py"),
)
WRAPPED = 4  # decorators of one function that are passed
RANKS = (0, 1, 2)  # see rank_of
NAMES_OF_CLASS = type.__dict__["__dict__"].__get__  # vars asks the metaclass
BASES_OF_CLASS = type.__dict__["__mro__"].__get__  # and itself; likewise


def is_a(item, kinds):
    """isinstance without asking the object: a proxy's answer may run code of
    the program's."""
    return issubclass(type(item), kinds)


class TypeTeller:
    """How one look tells the types of objects apart: by the types themselves, which makes a scan of all
    objects shorter by a third, or by keys where a metaclass has a hash of its own. What two tellers say is
    not to be mixed."""

    def __init__(self):
        self._by_key = _may_hash()

    def of(self, items):
        """What tells the type of each item."""
        return atomic.types_of(items) if self._by_key else map(type, items)

    def these(self, kinds):
        """What tells some types."""
        return atomic.keys(kinds) if self._by_key else set(kinds)

    def family(self, kinds):
        """What tells types and all their subclasses."""
        found = atomic.families(kinds)
        return set(found) if self._by_key else set(found.values())

    def key(self, mark):
        """The key of a type, by what tells it."""
        return mark if self._by_key else atomic.key(mark)


def _may_hash():
    """Whether the hash of a type may be code of a metaclass, or refused by one."""
    bases = itertools.chain.from_iterable(map(BASES_OF_CLASS, atomic.families([type]).values()))
    return any(base is not object and "__hash__" in NAMES_OF_CLASS(base) for base in bases)


def namespace(item):
    """An object's __dict__, past any code of the program's; {} without one."""
    if is_a(item, type):
        return NAMES_OF_CLASS(item)
    try:
        return object.__getattribute__(item, "__dict__")
    except AttributeError:
        return {}


def filling(item, below=()):
    """(elements, most elements) of a container that has a bound, else None: a deque
    with maxlen, a queue with maxsize, a cache of functools with maxsize. Of a queue what is next
    below it is to be its elements, if anything is: its loop and its locks have no bound."""
    if is_a(item, collections.deque):
        most, length = collections.deque.maxlen.__get__(item), collections.deque.__len__(item)
    elif is_a(item, LRU_CACHE):
        _, _, most, length = LRU_CACHE.cache_info(item)
    else:
        names = namespace(item)
        most = names.get("maxsize", names.get("_maxsize"))
        queue = names.get("queue", names.get("_queue"))
        is_queue = type(queue) in (collections.deque, list)
        length = len(queue) if is_queue and (not below or any(item is queue for item in below)) else None
    if type(most) is not int or length is None or most <= 0:
        return None
    return length, most


def code_of(item):
    for name in ("f_code", "__code__", "gi_code", "cr_code", "ag_code"):
        if not is_a(item, type) and hasattr(item, name):
            return getattr(item, name)
    return None


def wrapped_code(item):
    """The code of the function that a function's cache was put around, past decorators of
    libraries."""
    code = None
    for _ in range(WRAPPED):
        item = namespace(item).get("__wrapped__")
        code = code_of(item) or code
        if code is None or not is_library(code.co_filename):
            break
    return code


def frame_of(item):
    for name in ("gi_frame", "cr_frame", "ag_frame"):
        if hasattr(item, name):
            return getattr(item, name)
    return None


def variable_of(frame, child):
    """The name of a frame's variable that is an object; empty for none. One that inner
    functions use is in a cell. Before 3.13 a frame keeps the dictionary that it is read by,
    so that it is emptied again."""
    held, code, names = frame.f_locals, frame.f_code, None
    if is_a(child, CELL):
        names = code.co_cellvars + code.co_freevars
        child = next(iter(gc.get_referents(child)), code)  # an empty one is no variable's
    name = next((k for k, v in held.items() if v is child and (names is None or k in names)), "")
    if type(held) is dict and sys.getrefcount(held) == ALONE:
        held.clear()
    return name


class Contexts(list):
    """The contexts of contextvars, and generators that only loops have: a root whose elements
    are there for a moment only, and that has nothing else which could be taken for the
    program's."""

    __slots__ = ()

    @staticmethod
    def kind():
        """The type of its elements; None in a program that has none."""
        return getattr(sys.modules.get("_contextvars"), "Context", None)


def closure_variable(chain, at):
    """(place, name) of what a variable of its closure refers to, past its cells, where the
    object at a place of a chain is a function that leads there; else None."""
    function = chain[at]
    if is_a(function, types.FunctionType):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            for place in (at + 1, at + 2):
                if place + 1 < len(chain) and chain[place] is cell:
                    return place + 1, name
    return None


def default_parameter(function, defaults, value):
    """The parameter of a function whose default is a value, of those that are together in a
    tuple; empty for none."""
    if not is_a(function, types.FunctionType) or function.__defaults__ is not defaults:
        return ""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount][-len(defaults) :]
    return next((name for name, item in zip(names, defaults) if item is value), "")


def context_variable(chain, at):
    """(the place of the value, its variable's name) where a chain goes on from a context:
    nodes of a tree are in between. None where none of them is a value, or it is none."""
    if at < 1 or type(chain[at - 1]) is not Contexts or type(chain[at]) is not Contexts.kind():
        return None
    values = {id(value): variable.name for variable, value in Contexts.kind().items(chain[at])}
    found = (n for n in range(at + 1, len(chain)) if id(chain[n]) in values)
    return next(((n, "%s.get()" % values[id(chain[n])]) for n in found), None)


def default_of(item, child):
    """The name of a context variable whose default is an object; empty for none."""
    kind = getattr(sys.modules.get("_contextvars"), "ContextVar", ())
    return "%s.get()" % item.name if is_a(item, kind) and child is not item.name else ""


def held_by_frame(chain, at):
    """The frame of the coroutine or generator at a place of a chain, where the chain goes on
    past it, as it does until 3.10; else None."""
    if at + 2 < len(chain) and is_a(chain[at], SUSPENDED) and frame_of(chain[at]) is chain[at + 1]:
        return chain[at + 1]
    return None


def is_future(item):
    """Whether an object is a future or a task of the standard library's."""
    return is_named(type(item), ("Future", "Task"), FUTURES)


def is_executor(item):
    """Whether an object does the work that it is handed in threads or processes of its own, and
    queues what they have not come to."""
    return is_named(type(item), ("Executor", "Pool"), EXECUTORS)


def is_user_container(item):
    """Whether an object is a dictionary or a list of collections that is written in Python,
    which has its elements in an attribute."""
    return is_named(type(item), ("UserDict", "UserList"), ("collections",))


def is_thread(kind):
    """Whether a class is one of threads."""
    return is_named(kind, ("Thread",), THREADS)


def is_named(kind, names, modules):
    """Whether a class, or one that it derives from, has one of some names in one of some
    modules, which need not be loaded."""
    ask = type.__getattribute__
    lines = type.__dict__["__mro__"].__get__(kind)
    return any(ask(k, "__name__") in names and ask(k, "__module__") in modules for k in lines)


def is_library(file):
    """Whether a file is a library's or the interpreter's, not the program's."""
    if "site-packages" in file or "dist-packages" in file or file.startswith(OWN):
        return True
    if file.startswith((os.path.dirname(os.__file__), "<frozen")):
        return True
    folders = tuple(folder for folder in sys.path if type(folder) is str and folder)
    return _is_installed(os.path.dirname(file), folders)


@functools.lru_cache(maxsize=1024)  # of thousands of modules most are in few folders
def _is_installed(place, folders):
    """Whether what is in a place was installed into one of some folders."""
    place = os.path.join(place, "")
    return any(_has_packages(f) for f in folders if place.startswith(os.path.join(f, "")))


@functools.lru_cache(maxsize=64)
def _has_packages(folder):
    """Whether packages were installed into a folder, such as by pip's --target."""
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False


def rank_of(code):
    """How well a person knows the variables of a function: 0 those of the program's
    functions, beside its modules; 1 those of its methods, where self is an object
    that has better names mostly; 2 those of libraries, and of expressions that loop over
    what has a name elsewhere."""
    first = code.co_varnames[:1]
    if is_library(code.co_filename) or first == (".0",):
        return 2
    return int(first in (("self",), ("cls",)))


def script_name(module):
    """`train` for the main module of train.py, else the module's name."""
    if module != "__main__":
        return str(module)
    # At exit the interpreter has already taken __file__ away.
    file = getattr(sys.modules.get("__main__"), "__file__", None) or sys.argv[0]
    name = os.path.splitext(os.path.basename(str(file)))[0]
    return name if name.isidentifier() else "__main__"


def main_file():
    """The program's script, also at exit, when the interpreter has already taken
    __file__ away."""
    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    return os.path.abspath(script) if script.endswith(".py") else ""


def module_names():
    """{identity of a module's namespace: (its name, its file)}."""
    modules = list(sys.modules.items())
    names = dict(_names.of(modules, tuple(map(id, itertools.chain.from_iterable(modules)))))
    main = sys.modules.get("__main__")
    if is_a(main, types.ModuleType):  # its file goes first at exit
        file = namespace(main).get("__file__")
        file = main_file() if file is None else file
        names[id(namespace(main))] = script_name("__main__"), file if type(file) is str else ""
    return names


class _Names:
    """What was found last, for as long as there are the same modules: a look asks often."""

    def __init__(self):
        self._last = (), {}  # identities of names and modules, and what was found

    def of(self, modules, identities):
        if identities != self._last[0]:
            self._last = identities, _named(modules)
        return self._last[1]


_names = _Names()


def _named(modules):
    names = {}
    for name, module in modules:
        if is_a(module, types.ModuleType):
            names_of = namespace(module)
            file = names_of.get("__file__")
            if id(names_of) not in names:  # else another name of the same: the first is shown
                names[id(names_of)] = (script_name(name), file if type(file) is str else "")
    return names


def attributes(item):
    yield from list(namespace(item).items())
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if type(slots) is str else slots:
            try:
                yield name, object.__getattribute__(item, name)
            except AttributeError:
                continue


def owns(item, dictionary):
    # A class shows a proxy of its dictionary only; it has no other.
    return is_a(item, type) or namespace(item) is dictionary


def key_of(dictionary, child):
    return next((k for k, v in list(dict.items(dictionary)) if v is child), "key")
