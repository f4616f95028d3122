"""Chains of references in words: `list train.history`, `train.model.weight`."""

import collections
import sys
import types

from gpumem_agent.frameworks.torch_names import HOOKS, tidy
from gpumem_agent.holders.kinds import (
    CELL,
    LRU_CACHE,
    SEQUENCES,
    SUSPENDED,
    code_of,
    frame_of,
    is_a,
    namespace,
    script_name,
)

ALONE = 3  # references: the frame, a variable of ours, the question


class Local:
    """A variable of a running function: a root that no object stands for."""

    __slots__ = ("name", "rank")

    def __init__(self, name, rank):
        self.name = name
        self.rank = rank


class Name:
    """What is left of a Path when its objects are let go."""

    __slots__ = ("text", "container", "of_container")

    def __init__(self, path):
        self.text = str(path)
        self.container = None if path.container is None else id(path.container)
        self.of_container = None if path.container is None else path.of_container()


class Path:
    """A chain of references in words: name of the root, then steps."""

    def __init__(self, chain, modules):
        self.container = None  # the first object with unnamed elements
        self.chain = chain  # the objects, from the root on
        self._parts = [self._root(chain[0], modules)]
        self._before = None  # text up to the container
        at = self._first_step(chain)
        while at + 1 < len(chain):
            at = self._step(at)
        self._text = tidy("".join(self._parts))

    def __str__(self):
        """`list train.history`, `train.model.weight`, …: the container's type
        before its path, when there is one."""
        if self.container is None:
            return self._text
        rest = self._text[len(tidy(self._before)) + len("[…]") :]
        return self.of_container() + ("[…]" + rest if rest else "")

    def of_container(self):
        """The path up to the container, for all that is in it."""
        return "%s %s" % (type(self.container).__name__, tidy(self._before))

    def _root(self, root, modules):
        if id(root) in modules:
            return modules[id(root)][0]
        if type(root) is Local:
            return root.name
        if is_a(root, types.FrameType):
            return "%s()" % root.f_code.co_name
        if is_a(root, SUSPENDED):
            return "%s %s()" % (type(root).__name__, code_of(root).co_name)
        module = getattr(root, "__module__", None)
        name = getattr(root, "__qualname__", None) or type(root).__name__
        name = "%s.%s" % (script_name(module), name)
        if is_a(root, LRU_CACHE):
            return "lru_cache of " + name
        return "class " + name if is_a(root, type) else "function " + name

    def _first_step(self, chain):
        """A local is its frame's variable already; a function's closure reads
        `function f closure x`, not its cells. Returns the place reached."""
        root = chain[0]
        if type(root) is Local:
            return 1
        if not is_a(root, types.FunctionType) or len(chain) < 3:
            return 0
        for name, cell in zip(root.__code__.co_freevars, root.__closure__ or ()):
            for place in (1, 2):
                if chain[place] is cell and place + 1 < len(chain):
                    self._parts.append(" closure %s" % name)
                    return place + 1
        return 0

    def _step(self, at):
        """Adds the step from chain[at] down; returns the place reached."""
        parent, child = self.chain[at], self.chain[at + 1]
        if is_a(parent, dict) and not _is_value(parent, child):
            self._parts.append(" key")
        elif is_a(parent, dict):
            self._add(parent, _key_of(parent, child), at == 0)
        elif is_a(parent, SEQUENCES):
            self._variadic(parent)
        elif is_a(parent, LRU_CACHE):
            self._variadic(parent)
        elif is_a(parent, types.FrameType):
            name = " → %s()" % parent.f_code.co_name if at else ""
            self._parts.append(name + _local(parent, child))
        elif type(child) is dict and at + 2 < len(self.chain) and _owns(parent, child):
            name = _key_of(child, self.chain[at + 2])
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


def _attribute(parent, child):
    """The step from an object to one it refers to, by attribute."""
    if is_a(child, collections.OrderedDict) and _has(parent, HOOKS):
        return "." + HOOKS
    if is_a(parent, types.TracebackType):
        return ""  # the frame says more
    if is_a(parent, BaseException) and is_a(child, (BaseException, types.TracebackType)):
        return ".__context__" if is_a(child, BaseException) else ".__traceback__"
    if is_a(parent, SUSPENDED):
        frame = frame_of(parent)
        names = frame.f_locals.items() if frame is not None else ()
        return next((" local %s" % k for k, v in names if v is child), " local")
    if is_a(parent, CELL):
        return ""
    if is_a(parent, types.MethodType):
        return ".__self__" if parent.__self__ is child else ".__func__"
    if is_a(parent, types.FunctionType):
        return "." + next((k for k, v in vars(parent).items() if v is child), "__defaults__")
    for name, value in _attributes(parent):
        if value is child:
            return "." + name
    return " → %s" % type(child).__name__


def _has(item, name):
    """Whether an object's type has an attribute, without asking either."""
    return any(name in kind.__dict__ for kind in type(item).__mro__)


def _local(frame, child):
    """The step from a frame to what it refers to. From 3.11 on the collector sees
    the variables of functions that have returned alone, else a caller or a tracing
    function; a frame that may run (see variables) is not read. Before 3.13 a frame
    keeps the dictionary that it is read by."""
    if sys.version_info < (3, 11) or child is frame.f_trace or child is frame.f_back:
        return " local"
    held = frame.f_locals
    name = next((k for k, v in held.items() if v is child), "")
    if type(held) is dict and sys.getrefcount(held) == ALONE:
        held.clear()
    return " local %s" % name if name else " local"


def _attributes(item):
    yield from list(namespace(item).items())
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if type(slots) is str else slots:
            try:
                yield name, object.__getattribute__(item, name)
            except AttributeError:
                continue


def _owns(item, dictionary):
    # A class shows a proxy of its dictionary only; it has no other.
    return is_a(item, type) or namespace(item) is dictionary


def _is_value(dictionary, child):
    return id(child) in map(id, list(dict.values(dictionary)))


def _key_of(dictionary, child):
    return next((k for k, v in list(dict.items(dictionary)) if v is child), "key")
