"""Which calls of the program's lead to where a library fills what is its own.

The library's source says which of its functions add to an attribute, and which functions
call those: by name, in the files of the classes that are on the way. Of these the ones
count that the program calls on the object by which it has all that.
"""

import functools
import re
import sys

from gpumem_agent.holders.kinds import is_a, is_library, namespace
from gpumem_agent.holders.texts import DEF, LONGEST, adds_to, in_program, read

MOST_FILES = 8  # of the library that are read
MOST_PARTS = 32  # of an object, whose classes are asked for
MOST_LINES = 2  # told
CALLS = 8  # below one another that are followed
CALLED = re.compile(r"(\w+)\s*\(")
# What it says is no call.
QUOTED = re.compile(r"""(\"{3}|'{3})(?:.|\n)*?\1|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'""")
# Names that say nothing of what is called: those of containers, and of a module's call.
COMMON = {name for kind in (dict, list, set, str) for name in dir(kind)} | {"forward", "to"}


class Called:
    """Calls of a library's object that may have filled an attribute below it."""

    __slots__ = ("_asked",)

    def __init__(self, attribute, files, receiver, methods, is_function=False):
        self._asked = attribute, files, receiver, methods, is_function

    def sites(self):
        """Places of the lines of the program that have such a call."""
        return _places(*self._asked)


def library_files(chain, file_of):
    """The files of the libraries' classes of the objects of a chain, and of what the first of them has:
    a chain may leave that out. Those of the first one's own library come first."""
    items = (item for item in (*chain, *_parts(chain[0])) if not is_a(item, dict))
    files = dict.fromkeys(file_of(kind) for item in items for kind in type(item).__mro__)
    found = [file for file in files if file.endswith(".py") and is_library(file)]
    own = "/%s/" % type(chain[0]).__module__.partition(".")[0]
    found.sort(key=lambda file: own not in file.replace("\\", "/"))
    return tuple(found[:MOST_FILES])


def _parts(item):
    """What an object has, and what is in dictionaries that it has, as a module's parts are."""
    names = namespace(item)
    own = list(names.values())[:MOST_PARTS] if type(names) is dict else []
    for each in filter(lambda part: type(part) is dict, own[:]):
        own.extend(list(each.values())[:MOST_PARTS])
    return own


def is_callable(item):
    """Whether an object's class says what a call of it does."""
    return any("__call__" in kind.__dict__ for kind in type(item).__mro__)


def methods_of(item):
    """The names of an object's class that are for everybody."""
    names = {name for kind in type(item).__mro__ for name in kind.__dict__}
    return frozenset(name for name in names if type(name) is str and not name.startswith("_"))


@functools.lru_cache(maxsize=32)  # each look asks again
def _places(attribute, files, receiver, methods, is_function):
    leading = _leading_to(attribute, files)
    calls = sorted(leading & methods)
    names, name = "|".join(map(re.escape, calls)), re.escape(receiver)
    pattern = re.compile(r"(?<!\w)%s\.(?:%s)\s*\(" % (name, names))
    found = in_program(pattern, receiver, MOST_LINES) if names else []
    if leading and is_function and not found:
        found = in_program(re.compile(r"(?<!def )(?<!\w)%s\s*\(" % name), receiver, MOST_LINES)
    return found or _by_another_name(calls, files)


def _by_another_name(calls, files):
    """Places of calls of some methods of whatever object, where they are few: a thread that fills
    its program's queue knows it by a name of its own. Only of the interpreter's own classes:
    many libraries have a method called "step"."""
    if any("-packages" in file for file in files):
        return []
    found = []
    for name in calls:
        found += in_program(re.compile(r"(?<!\bsuper\(\))\.%s\s*\(" % re.escape(name)), name, MOST_LINES + 1)
    return found if len(found) <= MOST_LINES else []


def _leading_to(attribute, files):
    """The names of the functions of some files that add to an attribute, or call one that
    does. Who calls one with a name that containers have, too, is unknown."""
    pattern, called, found = adds_to(attribute, r"\."), {}, set()
    for file in files:
        for function, names in _called_in(file).items():
            called.setdefault(function, set()).update(names)
        text = read(file)
        for function, line in _lines(text) if attribute in text else ():
            if attribute in line and pattern.search(line):
                found.add(function)
    common, found = found & COMMON, set(filter(_is_told, found))
    for _ in range(CALLS if found else 0):
        more = {f for f, names in called.items() if _is_told(f) and not names.isdisjoint(found)}
        if more <= found:
            break
        found |= more
    return found | common


@functools.lru_cache(maxsize=MOST_FILES)
def _called_in(file):
    """{name of a function of a file: names of what it calls}."""
    called = {}
    for function, line in _lines(read(file)):
        called.setdefault(function, set()).update(CALLED.findall(line))
    return {f: frozenset(map(sys.intern, names)) for f, names in called.items()}


def _is_told(function):
    return not function.startswith("__") and function not in COMMON


def _lines(text):
    """Pairs of the name of a function and a line of its body."""
    within = []  # pairs of a depth and a name
    for line in QUOTED.sub("...", text).splitlines():
        bare = line.strip()
        if not bare or bare.startswith("#") or len(line) > LONGEST:
            continue
        depth = len(line) - len(line.lstrip())
        while within and depth <= within[-1][0] and not bare.startswith(")"):
            within.pop()
        head = DEF.match(line)
        if head:
            within.append((depth, head.group(1)))
        elif within:
            yield within[-1][1], bare.partition("#")[0]
