"""Chains of references in words: `list train.history`, `train.model.weight`."""

import collections
import re
import sys
import types

from gpumem_agent.frameworks.torch_names import HOOKS, is_hooks, parts_of, stands_for_many, tidy
from gpumem_agent.holders import hooks, states
from gpumem_agent.holders.bounds import numbers_of
from gpumem_agent.holders.kinds import (
    CELL,
    Contexts,
    LRU_CACHE,
    SEQUENCES,
    SUSPENDED,
    TEE,
    THREAD_LOCAL,
    attributes,
    closure_variable,
    code_of,
    context_variable,
    default_of,
    default_parameter,
    filling,
    frame_of,
    held_by_frame,
    is_a,
    is_executor,
    is_future,
    is_library,
    key_of,
    namespace,
    owns,
    script_name,
    variable_of,
)
from gpumem_agent.holders.lines import assigned, filler, module_with, of_hooks
from gpumem_agent.holders.living import GROWING, outnumbers
from gpumem_agent.holders.local import Local
from gpumem_agent.holders.logged import RECORDS, logged
from gpumem_agent.holders.words import by_object, kind_of, of_c, of_things

PLAIN = (list, tuple, dict, collections.OrderedDict, collections.deque)
INTO = " → "  # before the type of what an object shows no name for
MOST_KEYS = 16  # of a dictionary whose entries a path tells by them
MOST_ENTRIES = 3  # of such dictionaries on a path, the outermost, that are told of
DIGIT = re.compile(r"[0-9]")


class Entry:
    """One of the few entries of a dictionary on a path, and what the dictionary itself would
    be told with. It keeps no object. See siblings."""

    __slots__ = ("identity", "path", "key", "keys", "is_numbered", "rest", "facts", "is_plain")


class Name:
    """What is left of a Path when its objects are let go."""

    __slots__ = ("text", "container", "of_container", "of_modules", "facts", "is_plain", "entries")

    def __init__(self, path):
        self.text = str(path)
        self.container = None if path.container is None else id(path.container)
        self.of_container = None if path.container is None else path.of_container()
        self.of_modules = bool(parts_of(path.container))
        self.facts = path.facts()
        self.is_plain = path.is_plain()
        self.entries = path.entries()


class Path:
    """A chain of references in words: name of the root, then steps."""

    def __init__(self, chain, modules):
        self.container = None  # the first object with unnamed elements
        self.chain = chain  # the objects, from the root on
        self._modules = modules
        self._parts = [self._root(chain[0], modules)]
        self._before = None  # text up to the container
        self._keyed = []  # places of dictionaries before it, each with its parts up to there
        elements = {n: self._part(n) for n in range(len(chain))}
        self._elements = {n: part for n, part in elements.items() if part}
        many = [n for n in self._elements if stands_for_many(chain[n])]
        self._last = max(many, default=-1)  # container of modules
        self._end = len(chain) - 1  # the place that the path leads to
        self._steps = []  # places from which one was taken, each with the parts up to there
        at = self._first_step(chain)
        while at < self._end:
            self._steps.append((at, len(self._parts)))
            at = self._step(at)
            self._stay_outside()
        if self.container is None and many:
            self.container, self._before = chain[self._last], self._before_last
            self._keyed = [pair for pair in self._keyed if pair[0] < self._last]
        self._text = tidy("".join(self._parts))

    def __str__(self):
        """`list train.history`, `train.model.weight`, …: the container's type
        before its path, when there is one."""
        if self.container is None:
            return self._text
        rest = self._text[len(tidy(self._before)) + len("[…]") :]
        return self.of_container() + ("[…]" + rest if rest else "")

    def facts(self):
        """What more is known of the container: its elements, and how many it can
        have at most, as keys of record.Holder."""
        at = self._at()
        if parts_of(self.container) and type(self.chain[self._end]) in GROWING:
            at = self._end  # a list in a module is filled itself
        # What is at the end of a path without a container was assigned to that end, as a tee is;
        # and of a function that is made again each has a variable of its own, to which one was.
        is_assigned = self.container is None or is_a(self.container, TEE) or at > 0 and is_a(self.chain[at - 1], CELL)
        # What a layer has was assigned to an attribute of its own.
        return self._facts(at, self._end - 1 if parts_of(self.container) else at - is_assigned)

    def entries(self):
        """The Entries of the dictionaries with few that are on the way to the container."""
        return tuple(self._entry(*pair) for pair in self._keyed[:MOST_ENTRIES])

    def _entry(self, at, parts):
        entry, keyed = Entry(), self.chain[at]
        entry.identity = id(keyed)
        own = ".__dict__" if at > 0 and owns(self.chain[at - 1], keyed) else ""
        entry.path = "%s %s" % (word_for(keyed), tidy("".join(self._parts[:parts])) + own)
        key = key_of(keyed, self.chain[at + 1])
        entry.key, entry.is_numbered = str.__hash__(key), DIGIT.search(key) is not None
        entry.keys = frozenset(str.__hash__(k) for k in list(dict.keys(keyed)) if isinstance(k, str))
        entry.rest = tidy("".join(self._parts[parts + 1 :]))
        entry.facts = self._facts(at, at, at + 1)
        entry.is_plain = all(type(item) in PLAIN for item in self.chain[at:-1])
        return entry

    def _facts(self, at, behind, end=None):
        """The same of what is at a place. What was assigned stands behind another, and what
        says how full it is before an end."""
        facts = {
            "filled": hooks.filler(self.chain, at, self._modules) or filler(self.chain, at, self._modules),
            "assigned": assigned(self.chain, behind, self._modules),
        }
        kind = kind_of(self.chain, at)
        if kind is None and self.container is None and is_a(self.chain[0], Local):
            kind = self.chain[0].kind()
        if kind:
            facts["kind"] = kind
        if kind == RECORDS:  # whoever logs adds to it
            facts["filled"] = (logged(self.chain, at, self._modules),)
        container = self.chain[at]
        if is_a(container, dict) and by_object(container):
            facts["by_object"] = True
        if is_a(container, (dict, set)) and of_things(container):
            facts["of_things"] = True
        for place, item in enumerate(self.chain[:end]):
            known = filling(item, self.chain[place + 1 : place + 3])
            # What many elements of a list have each does not bound the list.
            is_each = place > at and type(container) in GROWING and known and len(container) > known[1]
            if known is not None and not is_each:
                return {"length": known[0], "bound": known[1], **facts}
        if type(container) in GROWING:
            facts["length"] = len(container)
            facts["parts"] = states.parts(container)
            facts["numbers"] = numbers_of(self.chain, at, self._modules)
        elif self.container is not None and parts_of(container):
            facts["length"] = sum(map(dict.__len__, parts_of(container)))
        return facts

    def _at(self):
        """The place of the container, or of the end of the chain."""
        places = (n for n, item in enumerate(self.chain) if item is self.container)
        return self._end if self.container is None else next(places)

    def is_plain(self):
        """Whether the container has what is at the end itself, or in such containers."""
        between = self.chain[self._at() : -1]
        return self.container is not None and all(type(item) in PLAIN for item in between)

    def of_container(self):
        """The path up to the container, for all that is in it."""
        return "%s %s" % (word_for(self.container), tidy(self._before))

    def of_kind(self):
        """The same as str, with the type of the object at the end before it."""
        end = self.chain[self._end]
        if len(self.chain) > 1 and is_a(self.chain[-2], LRU_CACHE):
            return self.of_container() if self.chain[-2] is self.container else str(self)
        inside = "" if self.container is None or self.container is end else "in "
        return "%s %s%s" % (word_for(end), inside, self)

    def _root(self, root, modules):
        if id(root) in modules:
            return modules[id(root)][0]
        if type(root) is Local:
            return root.name
        if is_a(root, types.FrameType):
            return "%s()" % root.f_code.co_name
        if type(root) is Contexts:
            return "context variable"
        if is_a(root, SUSPENDED):
            return "%s %s()" % (type(root).__name__, code_of(root).co_name)
        module = getattr(root, "__module__", None)
        if is_a(root, types.FunctionType):
            names = namespace(sys.modules.get(module)) if type(module) is str else {}
            known = next((name for name, item in list(names.items()) if item is root), None)
            if known is not None:  # as if the look had come from there
                return "%s.%s" % (script_name(module), known)
        name = getattr(root, "__qualname__", None) or type(root).__name__
        name = "%s.%s" % (script_name(module), name)
        if is_a(root, LRU_CACHE):
            return "lru_cache of " + name
        return "class " + name if is_a(root, type) else "function " + name

    def _first_step(self, chain):
        """A local is its frame's variable already; a function's closure reads
        `function f closure x`, not its cells. Returns the place reached."""
        if type(chain[0]) in (Local, Contexts):
            return 1
        return self._closure(0) or self._default(0)

    def _closure(self, at):
        """Adds the step from a function to what a variable of its closure is, past its cells.
        Returns the place reached; 0 of another step."""
        found = closure_variable(self.chain, at)
        if found is None:
            return 0
        self._parts.append(" closure %s" % found[1])
        return found[0]

    def _default(self, at):
        """The same from a function to the default of one of its parameters, past the tuple of
        all defaults."""
        name = at + 2 < len(self.chain) and default_parameter(*self.chain[at : at + 3])
        if not name:
            return 0
        self._parts.append("() default %s" % name)
        return at + 2

    def _frame(self, at):
        """The same from a coroutine or generator to a variable of its function, past its frame."""
        frame = held_by_frame(self.chain, at)
        if frame is None:
            return 0
        if at > 0 and self.container is None and _is_own(self.chain[at]):
            self._parts, self._keyed = ["%s()" % frame.f_code.co_name], []
        name = variable_of(frame, self.chain[at + 2])
        self._parts.append(" local %s" % name if name else " local")
        return at + 2

    def _stay_outside(self):
        """Ends the path at an object that shows no name for what it refers to, or at the
        closest above it that has a public one: a table of pandas, and not its blocks. Not above one that
        is known to keep what it refers to, unless an executor has it."""
        at, parts = self._steps[-1]
        into = INTO + type(self.chain[at + 1]).__name__
        if self.container is not None or self._parts[parts:] != [into]:
            return
        keeps = any(of_c(self.chain[at])) and not any(is_executor(self.chain[n]) for n, _ in self._steps[-2:-1])
        while len(self._steps) > 1 and self._parts[parts - 1].startswith("._") and not keeps:
            self._steps.pop()
            at, parts = self._steps[-1]
        if at > 0:
            del self._parts[parts:]
            self._end = at

    def _part(self, at):
        """The place of what is an element of the module at a place; 0 where it is none
        that stands for a container, or refers to that otherwise."""
        tables = parts_of(self.chain[at])
        for place in (at + 1, at + 2) if tables else ():  # past its __dict__
            if place + 1 < len(self.chain) and any(t is self.chain[place] for t in tables):
                return place + 1
        return 0

    def _step(self, at):
        """Adds the step from chain[at] down; returns the place reached."""
        parent, child = self.chain[at], self.chain[at + 1]
        within = self._closure(at) or self._default(at) or self._frame(at)
        if within:
            return within
        if at in self._elements and at <= self._last:
            self._before_last = "".join(self._parts)
            self._parts.append("[…]")
            return self._elements[at]
        if is_a(parent, dict) and not _is_value(parent, child):
            self._parts.append(" key")
        elif is_a(parent, dict):
            self._add(at, key_of(parent, child))
        elif is_a(parent, SEQUENCES):
            self._variadic(parent)
        elif is_a(parent, LRU_CACHE):
            self._variadic(parent)
        elif is_a(parent, TEE):
            return self._tee(at)
        elif at > 0 and self.container is None and _is_own(parent):
            # What waits for it is a library's: the function says more.
            self._parts, self._keyed = ["%s()" % code_of(parent).co_name, _attribute(parent, child)], []
        elif context_variable(self.chain, at):
            place, name = context_variable(self.chain, at)
            self._parts.append(" " + name)
            return place
        elif is_a(parent, THREAD_LOCAL) and at + 3 < len(self.chain) and type(self.chain[at + 2]) is dict:
            # Its dictionaries by thread, and the one of a thread's.
            self._parts.append(".%s" % key_of(self.chain[at + 2], self.chain[at + 3]))
            return at + 3
        elif is_a(parent, types.FrameType):
            name = " → %s()" % parent.f_code.co_name if at else ""
            self._parts.append(name + _local(parent, child))
        elif type(child) is dict and at + 2 < len(self.chain) and owns(parent, child):
            if self.container is None and dict.__len__(child) > MOST_KEYS:
                self._keyed.append((at + 1, len(self._parts)))
            name = key_of(child, self.chain[at + 2])
            self._parts.append("." + str(name))
            return at + 2
        else:
            self._parts.append(_attribute(parent, child))
        return at + 1

    def _add(self, at, key):
        parent = self.chain[at]
        if at == 0:
            self._parts.append(".%s" % key)
        elif isinstance(key, str) and dict.__len__(parent) <= MOST_KEYS:
            if self.container is None and not self._is_table(at):
                self._keyed.append((at, len(self._parts)))
            self._parts.append("[%r]" % key)
        else:
            self._variadic(parent, of_hooks(self.chain, at, self._modules))

    def _tee(self, at):
        """The step from a branch to an element, past the links that have some elements each."""
        self._variadic(self.chain[at])
        link = type(self.chain[at + 1])
        return next((n for n in range(at + 1, self._end) if type(self.chain[n]) is not link), self._end)

    def _is_table(self, at):
        """Whether a dictionary is one in which a module has its parts."""
        return module_with(self.chain, at) is not None

    def _variadic(self, parent, of_hooks=False):
        if self.container is None or outnumbers(parent, self.container, of_hooks):
            self.container = parent
            self._before = "".join(self._parts)
        self._parts.append("[…]")


def word_for(item):
    """What the type of a container is called."""
    return {LRU_CACHE: "lru_cache", TEE: "tee"}.get(type(item), type(item).__name__)


def _attribute(parent, child):
    """The step from an object to one it refers to, by attribute."""
    if is_hooks(parent, child):
        return "." + HOOKS
    if is_a(parent, types.TracebackType):
        return ""  # the frame says more
    if is_a(parent, BaseException) and is_a(child, (BaseException, types.TracebackType)):
        return ".__context__" if is_a(child, BaseException) else ".__traceback__"
    if is_a(parent, SUSPENDED):
        frame = frame_of(parent)
        name = variable_of(frame, child) if frame is not None else ""
        return " local %s" % name if name else " local"
    if is_a(parent, CELL):
        return ""
    if default_of(parent, child):
        return ".get()"
    if is_a(parent, types.MethodType):
        return ".__self__" if parent.__self__ is child else ".__func__"
    if is_a(parent, types.FunctionType):
        return "." + next((k for k, v in vars(parent).items() if v is child), "__defaults__")
    for name, value in attributes(parent):
        if value is child:
            return "." + name
    if type(child) is list and is_future(parent):
        return "._callbacks"  # written in C it shows them to nobody
    return INTO + type(child).__name__


def _is_own(item):
    """Whether an object is a coroutine or generator of the program's."""
    return is_a(item, SUSPENDED) and not is_library(code_of(item).co_filename)


def _local(frame, child):
    """The step from a frame to what it refers to. From 3.11 on the collector sees
    the variables of functions that have returned alone, else a caller or a tracing
    function; a frame that may run (see variables) is not read."""
    if sys.version_info < (3, 11) or child is frame.f_trace or child is frame.f_back:
        return " local"
    name = variable_of(frame, child)
    return " local %s" % name if name else " local"


def _is_value(dictionary, child):
    return id(child) in map(id, list(dict.values(dictionary)))
