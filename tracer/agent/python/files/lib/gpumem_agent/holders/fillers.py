"""What a container is filled under, and the lines of the program that do so: those of its
source that add to a name, a key or a class, or that assign to a name.

It is a search in text, so it is told as what it is: where something is added to that
name. A name that many lines add to is told with the first ones.
"""

import functools
import re

from gpumem_agent.frameworks.torch_names import GRADIENT_GRAPHS, GROUPS
from gpumem_agent.holders import aliases
from gpumem_agent.holders.kinds import is_library
from gpumem_agent.holders.texts import (
    ADDING,
    CLASS,
    adds_below,
    adds_to,
    in_program,
    inside,
    outer,
    search,
)

MOST_LINES = 2  # told of a name
LOGGED = "records of a log"  # in place of a name
DATABASE = "rows of a database"  # likewise
FOR_THE_END = "callbacks for the end"
SPARSE = "sparse gradients"
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
    SPARSE: r"\.backward\s*\(",
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
        return [returned(self.file, self.line, self.function)] if self.file else []


class OfClass:
    """A class of the program's that is made from a container: its methods add to it."""

    __slots__ = ("name", "file")

    def __init__(self, name, file):
        self.name = name
        self.file = file

    def sites(self):
        """Places of their lines that do so."""
        return _own_places(self.name, self.file)


def places(found):
    """Sites, as "file:line function", of the lines that fill a name."""
    if type(found) is str:
        return [found]
    return next(filter(None, (name.sites() for name in _each(found))), [])


def name_of(found):
    """The name that such lines fill; empty of none."""
    return named(found)[0]


def named(found):
    """(the name that such lines fill, whether it is an attribute); an empty name of none."""
    own = _own(found)
    return ("", False) if own is None else (own.name, own.of_object)


def own_sites(found):
    """Places of the lines that add to a name itself; none where what it refers to is replaced."""
    own = _own(found)
    return [] if own is None or own.assigned else own.sites()


def _own(found):
    """The Filler of such lines, and of what keeps records of a log that of the program's handler; None of none."""
    name = None if type(found) is str else next((name for name in _each(found) if name.sites()), None)
    name = getattr(name, "own", name)
    return name if type(name) is Filler else None


def _each(found):
    return (found,) if type(found) is Filler else found


def returned(file, first, name):
    """The site of a function's cache: it is filled with what the first return gives."""
    sites = inside(search(file, re.compile(r"^\s*return\b(?!\s*(?:None\s*)?$)"), "return"), file, first)
    return next((site for site in sites if site.endswith(" " + name)), "%s:%d %s" % (file, first, name))


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
