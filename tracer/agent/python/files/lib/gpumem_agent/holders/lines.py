"""Which lines of the program fill a container: those of its source that add to the
container's name, or that assign what hangs below it. Where a library fills one of its
own, it is the program's calls that lead there (see calls).

It is a search in text, so it is told as what it is: where something is added to that
name. A name that many lines add to is told with the first ones.
"""

import functools
import re
from collections import deque

from gpumem_agent.frameworks import torch_names
from gpumem_agent.holders import aliases, cycles
from gpumem_agent.frameworks.torch_names import GRADIENT_GRAPHS, GROUPS, TABLES, is_container, is_hooks
from gpumem_agent.holders.calls import Called, is_callable, library_files, methods_of
from gpumem_agent.holders.kinds import (
    CELL,
    Contexts,
    LRU_CACHE,
    SUSPENDED,
    THREAD_LOCAL,
    attributes,
    closure_variable,
    code_of,
    context_variable,
    default_of,
    default_parameter,
    frame_of,
    held_by_frame,
    is_a,
    is_future,
    is_library,
    is_thread,
    is_user_container,
    key_of,
    namespace,
    owns,
    variable_of,
    wrapped_code,
)
from gpumem_agent.holders.texts import (
    ADDING,
    CLASS,
    adds_below,
    adds_to,
    in_program,
    inside,
    module_file,
    outer,
    search,
)

MOST_LINES = 2  # told of a name
LOGGED = "records of a log"  # in place of a name
DATABASE = "rows of a database"  # likewise
FOR_THE_END = "callbacks for the end"
THREADS = "threads"
OF_CONTEXT = ".get()"  # at the end of a name: what a context variable has
MADE_MODULES = "modules made at run time"
ATTRIBUTES = "attributes set by their names"
# What adds to an attribute of a library's object that the program does not name, or to
# what has no name.
ADDERS = {
    # A constant name, or the module's, asks for the same one each time.
    "loggerDict": r"""(?:getLogger|getChild)\s*\(\s*(?!\)|__name__|["'][^"'{%]*["']\s*\))""",
    LOGGED: r"\b(?:logging|\w*log(?:ger)?)\.(?:debug|info|warning|error|exception|critical|log)\s*\(",
    # The statement may be a constant's.
    DATABASE: r"""\.execute(?:many|script)?\s*\(\s*(?:f?["']+\s*(?i:insert|replace|create\s+table\s+\w+\s+as)\b"""
    r"|(?:\w+\.)*(?:(?i:insert|upsert|replace)|\w+_(?i:insert|upsert|replace))(?:_\w+)?\s*[,)])",
    FOR_THE_END: r"\batexit\.register\b",
    MADE_MODULES: r"\bsys\.modules\s*(?:\[[^\]]*\]\s*=(?!=)|\.setdefault\s*\()",
    ATTRIBUTES: r"\bsetattr\s*\(|\.__dict__\.update\s*\("
    r"|(?:\.__dict__|\bvars\s*\([^)]*\))\s*\[[^\]]*\]\s*=(?!=)",
    THREADS: r"(?<!class )\b(?:Thread|Timer|start_new_thread)\s*\(",
    "_registry": r"\bfinalize\s*\(",
    "handlers": r"\.addHandler\s*\(",
    "filters": r"\.addFilter\s*\(",
    "_callbacks": r"\.add_done_callback\s*\(",
    "_done_callbacks": r"\.add_done_callback\s*\(",
    "_items": r"\.imap(?:_unordered)?\s*\(",
    "_scheduled": r"\.call_(?:later|at)\s*\(",
    "__warningregistry__": r"\bwarnings\.warn(?:_explicit)?\s*\(|(?<![\w.])warn\s*\(",
    GROUPS: r"\.add_param_group\s*\("
    r"""|\[\s*["']params["']\s*\]\s*(?:\.(?:append|extend|insert)\s*\(|\+=|=(?!=))"""
    r"|(?i:\b\w*opt\w*)\.state\s*\[[^\]]*\]\s*=(?!=)",
    GRADIENT_GRAPHS: r"\bbackward\s*\(.*\bcreate_graph\s*=\s*(?!False)",
}
WORDS = {MADE_MODULES: "modules", GROUPS: "", ATTRIBUTES: ""}  # that such a line has, in place of a bracket
# Of PyTorch, and of what adds kinds of its own, as torch_geometric does: _message_forward_hooks.
HOOKS = re.compile(r"_(?:\w+_)?(?:forward|backward|state_dict|step)\w*_hooks$")
# An assignment to a name, of something more than a beginning; with an array's beginning.
ASSIGNS = r"^(?:(?!\bf[\"'])[^=(])*%s(?:\s*,\s*[\w.\[\]*]+)*\s*(?::[^=]*)?=(?!=)"
ASSIGNED = ASSIGNS + r"(?!\s*(?:None\b|[\[({]\s*[\])}]|[\d.]+\s*$|[\w.]*(?:zeros|empty)\w*\())"
MADE = ASSIGNS + r"(?=\s*[\w.]*(?:zeros|empty)\w*\()"
ARRAYS = ("Tensor", "Parameter", "ndarray", "ArrayImpl")  # names of classes


class Filler:
    """A name that is filled, and the file that it is a name of."""

    __slots__ = ("name", "file", "of_object", "assigned", "line", "is_array")

    def __init__(self, name, file, of_object, assigned=False, line=0, is_array=False):
        self.name = name
        self.file = file
        self.of_object = of_object  # an attribute, and no variable
        self.assigned = assigned  # what it refers to is replaced, and nothing added
        self.line = line  # the first of the function that has the variable
        self.is_array = is_array  # what is assigned is one

    def sites(self):
        """Places of the lines that do so."""
        return _places(self.name, self.file, self.of_object, self.assigned, self.line, self.is_array)


class Keyed:
    """A constant key of a dictionary, below which something is filled. The dictionary's own
    name says less: what has that may be called anything where it is filled."""

    __slots__ = ("key", "file")

    def __init__(self, key, file):
        self.key = key
        self.file = file

    def sites(self):
        """Places of the lines that do so."""
        pattern = adds_below(self.key)
        return (search(self.file, pattern, self.key) or in_program(pattern, self.key, MOST_LINES))[:MOST_LINES]


class Returned:
    """An attribute that a function returned once, a cached property."""

    __slots__ = ("name", "file", "of_object", "line", "function")

    def __init__(self, name, code):
        self.name = name
        self.file = code.co_filename if code else ""
        self.of_object = True
        self.line = code.co_firstlineno if code else 0
        self.function = code.co_name if code else ""

    def sites(self):
        """The place of its return."""
        return [_returns(self.file, self.line, self.function)] if self.file else []


class OfClass:
    """A class of the program's that is made from a container: its methods add to it."""

    __slots__ = ("name", "file")

    def __init__(self, name, file):
        self.name = name
        self.file = file

    def sites(self):
        """Places of their lines that do so."""
        return _own_places(self.name, self.file)


def filler(chain, at, modules):
    """The Fillers of the container at a place of a chain of references, the closest
    first, a site where that is a function's cache, or None. They keep no object."""
    kind, cycle = type(chain[at]), cycles.place_of(chain, at)
    named = _named(chain, cycle, modules) if cycle else None
    if named is not None:
        return (cycles.Drawn(named), named)
    if kind is dict and at > 0 and owns(chain[at - 1], chain[at]) and not is_a(chain[at - 1], type):
        return (Filler(ATTRIBUTES, _file_of(chain[at - 1]), True),)
    file = _file_of(chain[at]) if issubclass(kind, (dict, list, set, deque)) else ""
    found = _fillers(chain, at, modules)
    if not file or is_library(file):
        return found
    return (OfClass(kind.__name__, file), *(found or ()))


def _fillers(chain, at, modules):
    if is_a(chain[at], LRU_CACHE):
        code = wrapped_code(chain[at])
        return code and _returns(code.co_filename, code.co_firstlineno, code.co_name)
    names, calls, end, key = [], [], at, None
    for place in range(at, 0, -1):
        found = _named(chain, place, modules)
        if found is None:
            key = key or not names and _constant(chain[place - 1], chain[place])
            continue
        known = str(found.name).isidentifier() or found.name.endswith(OF_CONTEXT)
        is_programs = found.file and not is_library(found.file)
        if not is_programs:
            # A library's object: what the program adds to it, else to what has the object.
            if known and not names:
                names.append(Filler(found.name, "", True))
            continue
        if not names:
            own = (found,) if known else ()
            return ((Keyed(key, found.file),) if key else ()) + own or None
        if known:
            calls.append(_call(chain[place : end + 1], names[0].name, found.name))
            names.append(found)
    calls = list(filter(None, calls))
    return tuple(names[:1] + calls + names[1:2]) or None


def of_hooks(chain, place, modules):
    """Whether a module's dictionary of hooks is at a place of a chain."""
    found = _named(chain, place, modules) if is_a(chain[place], dict) else None
    return type(found) is Filler and HOOKS.match(str(found.name)) is not None


def _returns(file, first, name):
    """The site of a function's cache: it is filled with what the first return gives."""
    sites = inside(search(file, re.compile(r"^\s*return\b(?!\s*(?:None\s*)?$)"), "return"), file, first)
    return next((site for site in sites if site.endswith(" " + name)), "%s:%d %s" % (file, first, name))


def _constant(parent, child):
    """A dictionary's key of a child, where that may be one that the source has; else None."""
    key = key_of(parent, child) if type(parent) is dict else None
    return key if type(key) is str and key.isidentifier() and key != "key" else None


def assigned(chain, at, modules):
    """The Fillers of what is below a place of a chain, the last first: the names to which
    the program assigned it."""
    places = range(len(chain) - 1, max(0, at), -1)
    named = [(n, type(chain[p])) for p, n in ((p, _named(chain, p, modules)) for p in places) if n is not None]
    own = [(n, kind) for n, kind in named if n.file and not is_library(n.file) and str(n.name).isidentifier()]
    return tuple(
        n if type(n) is Returned else Filler(n.name, n.file, n.of_object, True, n.line, kind.__name__ in ARRAYS)
        for n, kind in own
    )


def _call(chain, attribute, receiver):
    """What may have filled a library's attribute at the end of a chain, whose first object
    the program calls so; None where that is no library's either."""
    if not is_library(_file_of(chain[0])):
        return None
    files = library_files(chain, _file_of)
    return Called(attribute, files, receiver, methods_of(chain[0]), is_callable(chain[0]))


def _named(chain, at, modules):
    parent, child = chain[at - 1], chain[at]
    if type(chain[0]) is Contexts and type(chain[1]) is Contexts.kind():
        found = context_variable(chain, 1)
        return Filler(found[1], "", False) if found and found[0] == at else None
    if is_a(parent, CELL):
        return _of_closure(chain, at)
    if getattr(type(parent), "__name__", "") == "Local" and hasattr(parent, "variable"):
        return Filler(parent.variable, parent.file, False, line=parent.line)
    parameter = default_parameter(*chain[at - 2 : at + 1]) if at > 1 else ""
    if parameter:
        code = chain[at - 2].__code__
        return Filler(parameter, code.co_filename, False, line=code.co_firstlineno)
    if id(parent) in modules:
        return Filler(key_of(parent, child), modules[id(parent)][1], False)
    if type(parent) is dict and at > 1 and owns(chain[at - 2], parent):
        if module_with(chain, at) is not None:
            return None
        return _attribute(key_of(parent, child), chain[at - 2])
    if type(parent) is dict and at > 2 and is_a(chain[at - 3], THREAD_LOCAL):
        above = _named(chain, at - 3, modules)
        return Filler(key_of(parent, child), above.file if above else "", True)
    module = module_with(chain, at - 1)
    if module is not None and not is_container(module):
        return Filler(key_of(parent, child), _file_of(module), True)
    if module is not None or type(parent) in (dict, list, tuple, set, frozenset):
        return None
    if default_of(parent, child):
        return Filler(default_of(parent, child), "", False)
    if is_a(parent, SUSPENDED) or at > 1 and held_by_frame(chain, at - 2):
        frame = frame_of(parent) if is_a(parent, SUSPENDED) else parent
        name = variable_of(frame, child) if frame is not None else ""
        code = code_of(parent)
        return Filler(name, code.co_filename, False, line=code.co_firstlineno) if name else None
    if type(child) is list and is_future(parent):
        return Filler("_callbacks", "", True)
    if is_hooks(parent, child):
        return Filler(torch_names.HOOKS, "", True)
    for name, value in attributes(parent):
        if value is child:
            return _attribute(name, parent)
    return None


def _attribute(name, owner):
    """The Filler of an attribute of an object. What an optimizer of a library has for its
    parameters gets more where it gets more of these."""
    file = _file_of(owner)
    if name == "data" and is_user_container(owner):
        return None  # who fills it names the object
    named = type(name) is str  # the hash of another is the program's code
    made = next((k.__dict__[name] for k in type(owner).__mro__ if named and name in k.__dict__), None)
    if is_a(made, functools.cached_property):
        return Returned(name, code_of(namespace(made).get("func")))
    is_librarys = not file or is_library(file)
    name = _unmangled(name, type(owner)) if named else name
    name = GROUPS if is_librarys and torch_names.is_of_groups(owner, name) else name
    name = THREADS if is_librarys and is_thread(type(owner)) else name  # what it was made with
    return Filler(name, file, True)


def _unmangled(name, kind):
    """A private name as the methods of its class have it: "__kept" of "_Engine__kept"."""
    heads = ("_%s__" % k.__name__.lstrip("_") for k in kind.__mro__)
    head = next(filter(name.startswith, heads), None)
    return name if head is None else name[len(head) - 2 :]


def _of_closure(chain, at):
    """The variable that functions share whose cell is before a place of a chain, or None."""
    for function in range(max(0, at - 3), at - 1):
        found = closure_variable(chain, function)
        if found and found[0] == at:
            code = chain[function].__code__
            line = 0 if code.co_name == "<lambda>" else code.co_firstlineno
            return Filler(found[1], code.co_filename, False, line=line)
    return None


def module_with(chain, at):
    """The module that has its parts in the dictionary at a place of a chain, or None."""
    if not is_a(chain[at], dict):
        return None
    for owner in chain[max(0, at - 2) : at]:
        names = {} if is_a(owner, dict) else namespace(owner)
        if any(names.get(table) is chain[at] for table in TABLES):
            return owner
    return None


def _file_of(item):
    """The file of an object's class."""
    kind = item if is_a(item, type) else type(item)
    return module_file(kind.__dict__.get("__module__", ""))


def places(found):
    """Sites, as "file:line function", of the lines that fill a name."""
    if type(found) is str:
        return [found]
    return next(filter(None, (name.sites() for name in _each(found))), [])


def name_of(found):
    """The name that such lines fill; empty of none."""
    name = None if type(found) is str else next((f for f in _each(found) if f.sites()), None)
    return name.name if type(name) is Filler else ""


def own_sites(found):
    """Places of the lines that add to a name itself; none where what it refers to is replaced."""
    filled = None if type(found) is str else next((name for name in _each(found) if name.sites()), None)
    return [] if type(filled) is not Filler or filled.assigned else filled.sites()


def _each(found):
    return (found,) if type(found) is Filler else found


@functools.lru_cache(maxsize=16)  # each look asks again
def _own_places(name, file):
    heads = search(file, re.compile(r"^\s*class\s+%s\b" % re.escape(name)), name)
    if not heads:
        return []
    first = int(heads[0][len(file) + 1 :].partition(" ")[0])
    adds = adds_to("self", r"(?<![\w.])"), re.compile(r"\bsuper\(\)\.(?:%s|__setitem__)\s*\(" % ADDING)
    found = [site for pattern, word in zip(adds, ("self", "super")) for site in search(file, pattern, word)]
    return inside(found, file, first, CLASS)[:MOST_LINES]


@functools.lru_cache(maxsize=64)  # each look asks again
def _places(name, file, of_object, assigned, line, is_array):
    hidden = ADDERS.get(name) or HOOKS.match(name) and r"\.register\w+hook\s*\("
    if hidden:
        pattern, word = re.compile(hidden), WORDS.get(name, "(")
        own = search(file, pattern, word) if file and not is_library(file) else []
        return own[:MOST_LINES] or in_program(pattern, word, MOST_LINES)
    mark = r"\." if of_object else r"(?<![\w.])"
    if name.endswith(OF_CONTEXT):
        return in_program(adds_to(name, r"(?<!\w)"), name, MOST_LINES)
    patterns = [functools.partial(adds_to, name, is_array=is_array)]
    if assigned:
        patterns.append(functools.partial(_assigns, ASSIGNED, name))
    if is_array:  # as it was made, and else what is stored into it
        patterns += [functools.partial(_assigns, MADE, name), functools.partial(adds_to, name)]
    found = next(filter(None, (_found(file, p(mark), p(r"\."), name, line) for p in patterns)), [])
    if file and not found:
        found = aliases.sites(file, name, mark)
        found = (line and inside(found, file, line) or found)[:MOST_LINES]
    return found


def _assigns(pattern, name, mark):
    return re.compile(pattern % (mark + re.escape(name)))


def _found(file, own, outside, name, line):
    found = search(file, own, name)
    if line and found:  # other functions have variables of that name as well
        around = outer(file, line)  # which a closure has its variables of
        found = inside(found, file, line) or around and inside(found, file, around) or found
    # From outside a module's variable is an attribute, too.
    return found[:MOST_LINES] or in_program(outside, name, MOST_LINES)
