"""From objects up to something a person can name: a module's variable, a
local of a function, a closure, a class.

The walk goes level by level with gc.get_referrers, many objects a call. All
it remembers of objects are their identities; the objects themselves are in
one list whose identity it knows, so that it does not find itself.
"""

import collections
import functools
import gc
import os
import sys
import time
import types

MAX_LEVELS = 16
PART = 64  # objects a call of get_referrers: its cost grows with both
MAX_WIDTH = 256  # objects a level; the rest is left out
OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))
SUSPENDED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
LRU_CACHE = type(functools.lru_cache(maxsize=1)(len))
SEQUENCES = (list, tuple, set, frozenset, collections.deque)
CELL = type((lambda x: lambda: x)(0).__closure__[0])
NAMED = (types.FunctionType, type, types.FrameType, LRU_CACHE) + SUSPENDED


class Walk:
    """The referrers of some objects, found once by climb."""

    def __init__(self, deadline, at_exit, ignored_types=()):
        self._deadline = deadline
        self._ignored = set(ignored_types)
        self._locals, self._running = _running_locals(at_exit)
        self._store = []
        self._at = {}  # identity: place in the store
        self._children = {}  # identity of a parent: its children's
        self._roots = {}  # identity: rank
        self._own = {id(self._store), id(self._at), id(self._children), id(self.__dict__)}
        self._modules = _module_names()
        self.complete = False  # every referrer was seen, none left out

    def climb(self, objects):
        """Finds the referrers of objects, and theirs, up to named ones."""
        level = [self._keep(o) for o in objects]
        del objects
        for _ in range(MAX_LEVELS):
            if not level:
                self.complete = True
                return
            following = []
            for at in range(0, len(level), PART):
                if time.monotonic() > self._deadline:
                    return
                self._climb_part(level[at : at + PART], following)
            level = following[:MAX_WIDTH]
            if len(following) > MAX_WIDTH:
                return

    def _climb_part(self, ids, following):
        wanted = set(ids)
        part = [self._store[self._at[i]] for i in ids]
        self._own.add(id(part))
        parents = gc.get_referrers(*part)
        self._own.add(id(parents))
        for parent in parents:
            # Some interpreters report the call's own arguments: an object that
            # only parents, this variable and the question itself hold.
            if sys.getrefcount(parent) > 3 and not self._is_own(parent):
                self._link(parent, wanted, following)
        self._own.difference_update((id(part), id(parents)))
        for identity in wanted.intersection(self._locals):
            local = self._locals[identity]
            self._roots[self._keep(local)] = _library(local.file)
            self._children.setdefault(id(local), set()).add(identity)

    def _is_own(self, parent):
        """Whether a referrer is part of this look, or is named otherwise."""
        if id(parent) in self._own or id(parent) in self._running:
            return True
        return type(parent) in self._ignored or _is_ours(parent)

    def _link(self, parent, wanted, following):
        new = id(parent) not in self._at
        identity = self._keep(parent)
        children = self._children.setdefault(identity, set())
        children.update(wanted.intersection(map(id, gc.get_referents(parent))))
        if not new:
            return
        rank = self._rank(parent)
        if rank is None:
            following.append(identity)
        else:
            self._roots[identity] = rank

    def _keep(self, item):
        identity = id(item)
        if identity not in self._at:
            self._at[identity] = len(self._store)
            self._store.append(item)
        return identity

    def _object(self, identity):
        return self._store[self._at[identity]]

    def _rank(self, item):
        """0 for names of the program, 1 for those of libraries, None for what
        has no name."""
        if id(item) in self._modules:
            return _library(self._modules[id(item)][1])
        if _is(item, NAMED):
            code = _code_of(item)
            return 1 if code is None else _library(code.co_filename)
        return None

    def paths(self):
        """{identity of an object: Path from a root}: the shortest from the
        program's names, else the shortest from a library's."""
        found, before = {}, {}
        for rank in (0, 1):
            level = [r for r, its in self._roots.items() if its == rank and r not in before]
            before.update((r, None) for r in level)
            while level:
                following = []
                for parent in level:
                    for child in self._children.get(parent, ()):
                        if child not in before:
                            before[child] = parent
                            following.append(child)
                level = following
        for identity in before:
            if before[identity] is not None:
                try:
                    found[identity] = self._path(identity, before)
                except Exception:
                    continue  # an object of the program's that cannot be asked
        return found

    def _path(self, identity, before):
        chain = []
        while identity is not None:
            chain.append(self._object(identity))
            identity = before[identity]
        chain.reverse()
        return Path(chain, self._modules)


class Path:
    """A chain of references in words: name of the root, then steps."""

    def __init__(self, chain, modules):
        self.container = None  # the first object with unnamed elements
        self._chain = chain
        self._parts = [self._root(chain[0], modules)]
        self._before = None  # text up to the container
        at = self._first_step(chain)
        while at + 1 < len(chain):
            at = self._step(at)
        self._text = _tidy("".join(self._parts))

    def __str__(self):
        """`list train.history`, `train.model.weight`, …: the container's type
        before its path, when there is one."""
        if self.container is None:
            return self._text
        rest = self._text[len(_tidy(self._before)) + len("[…]") :]
        name = "%s %s" % (type(self.container).__name__, _tidy(self._before))
        return name + ("[…]" + rest if rest else "")

    def _root(self, root, modules):
        if id(root) in modules:
            return modules[id(root)][0]
        if type(root) is _Local:
            return root.name
        if _is(root, types.FrameType):
            return "%s()" % root.f_code.co_name
        if _is(root, SUSPENDED):
            return "%s %s()" % (type(root).__name__, _code_of(root).co_name)
        module = getattr(root, "__module__", None)
        name = getattr(root, "__qualname__", None) or type(root).__name__
        name = "%s.%s" % (_script_name(module), name)
        if _is(root, LRU_CACHE):
            return "lru_cache of " + name
        return "class " + name if _is(root, type) else "function " + name

    def _first_step(self, chain):
        """A local is its frame's variable already; a function's closure reads
        `function f closure x`, not its cells. Returns the place reached."""
        root = chain[0]
        if type(root) is _Local:
            return 1
        if not _is(root, types.FunctionType) or len(chain) < 3:
            return 0
        for name, cell in zip(root.__code__.co_freevars, root.__closure__ or ()):
            for place in (1, 2):
                if chain[place] is cell and place + 1 < len(chain):
                    self._parts.append(" closure %s" % name)
                    return place + 1
        return 0

    def _step(self, at):
        """Adds the step from chain[at] down; returns the place reached."""
        parent, child = self._chain[at], self._chain[at + 1]
        if _is(parent, dict):
            self._add(parent, _key_of(parent, child), at == 0)
        elif _is(parent, SEQUENCES):
            self._variadic(parent)
        elif _is(parent, LRU_CACHE):
            self._variadic(parent)
        elif type(child) is dict and at + 2 < len(self._chain) and _owns(parent, child):
            name = _key_of(child, self._chain[at + 2])
            self._parts.append("." + str(name))
            return at + 2
        else:
            self._parts.append(_attribute(parent, child))
        return at + 1

    def _add(self, parent, key, is_namespace):
        if is_namespace:
            self._parts.append(".%s" % key)
        elif isinstance(key, str) and len(parent) <= 16:
            self._parts.append("[%r]" % key)
        else:
            self._variadic(parent)

    def _variadic(self, parent):
        if self.container is None:
            self.container = parent
            self._before = "".join(self._parts)
        self._parts.append("[…]")


def _tidy(text):
    """Modules of PyTorch keep children in dictionaries; leave these out."""
    for table in ("._modules[", "._parameters[", "._buffers["):
        while table in text:
            before, _, rest = text.partition(table)
            name, _, rest = rest.partition("]")
            text = "%s.%s%s" % (before, name.strip("'"), rest)
    return text


def _attribute(parent, child):
    """The step from an object to one it refers to, by attribute."""
    if _is(parent, types.FrameType):
        return " local"
    if _is(parent, SUSPENDED):
        frame = _frame_of(parent)
        names = frame.f_locals.items() if frame is not None else ()
        return next((" local %s" % k for k, v in names if v is child), " local")
    if _is(parent, CELL):
        return ""
    if _is(parent, types.MethodType):
        return ".__self__" if parent.__self__ is child else ".__func__"
    if _is(parent, types.FunctionType):
        return "." + next((k for k, v in vars(parent).items() if v is child), "__defaults__")
    for name, value in _attributes(parent):
        if value is child:
            return "." + name
    return " → %s" % type(child).__name__


def _attributes(item):
    yield from list(_namespace(item).items())
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if type(slots) is str else slots:
            try:
                yield name, object.__getattribute__(item, name)
            except AttributeError:
                continue


def _namespace(item):
    """An object's __dict__, past any code of the program's; {} without one."""
    if _is(item, type):
        return vars(item)
    try:
        return object.__getattribute__(item, "__dict__")
    except AttributeError:
        return {}


def _owns(item, dictionary):
    # A class shows a proxy of its dictionary only; it has no other.
    return _is(item, type) or _namespace(item) is dictionary


def _key_of(dictionary, child):
    for key, value in list(dict.items(dictionary)):
        if value is child:
            return key
    return "key"


def _is(item, kinds):
    """isinstance without asking the object: a proxy's answer may run code of
    the program's."""
    return issubclass(type(item), kinds)


def _frame_of(item):
    for name in ("gi_frame", "cr_frame", "ag_frame"):
        if hasattr(item, name):
            return getattr(item, name)
    return None


def _code_of(item):
    for name in ("f_code", "__code__", "gi_code", "cr_code", "ag_code"):
        if not _is(item, type) and hasattr(item, name):
            return getattr(item, name)
    return None


def _is_ours(item):
    """Frames of the agent, which exist for the collector before 3.11."""
    return _is(item, types.FrameType) and item.f_code.co_filename.startswith(OWN_FOLDER)


class _Local:
    """A variable of a running function: a root that no object stands for."""

    __slots__ = ("name", "file")

    def __init__(self, name, file):
        self.name = name
        self.file = file


def _running_locals(at_exit):
    """({identity of a value: its _Local}, identities of the frames that were
    read) of all threads' running functions."""
    found, read = {}, set()
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            code = frame.f_code
            optimized = code.co_flags & 1  # else its locals are a module's names
            names = _read_locals(frame, at_exit) if optimized and not _is_ours(frame) else None
            for name, value in (names or {}).items():
                found[id(value)] = _Local("%s() local %s" % (code.co_name, name), code.co_filename)
            if names is not None:
                read.update((id(frame), id(names)))
            frame = frame.f_back
    return found, read


def _read_locals(frame, at_exit):
    """The variables of a running frame, or None where to read them would have
    an effect: before 3.13 f_locals leaves a copy in the frame, which keeps old
    values alive until the function ends. Of an ending program that is fine."""
    if sys.version_info >= (3, 13):
        return dict(frame.f_locals)
    return frame.f_locals if at_exit else None


def _module_names():
    """{identity of a module's namespace: (its name, its file)}."""
    names = {}
    for name, module in list(sys.modules.items()):
        if _is(module, types.ModuleType):
            namespace = _namespace(module)
            file = namespace.get("__file__")
            if name != "__main__" and id(namespace) in names:
                continue  # another name of the same module: the first is shown
            names[id(namespace)] = (_script_name(name), file if type(file) is str else "")
    return names


def _script_name(module):
    """`train` for the main module of train.py, else the module's name."""
    if module != "__main__":
        return str(module)
    # At exit the interpreter has already taken __file__ away.
    file = getattr(sys.modules.get("__main__"), "__file__", None) or sys.argv[0]
    name = os.path.splitext(os.path.basename(str(file)))[0]
    return name if name.isidentifier() else "__main__"


def _library(file):
    """1 for files of libraries and of the interpreter, 0 for the program's."""
    if "site-packages" in file or "dist-packages" in file or file.startswith(OWN_FOLDER):
        return 1
    return int(file.startswith((os.path.dirname(os.__file__), "<frozen")))
