"""Containers whose elements are objects of an extension: what these have is in C++ or Rust,
where neither the collector nor their size shows it.

Such objects are told in number alone, and by the container that got more of them: whether
they hold what came nobody in Python sees. It is a hint where nothing else explains a growth,
and no holder of bytes.
"""

import itertools
import sys
import types

from gpumem_agent.holders import contents
from gpumem_agent.holders.classes import name_of
from gpumem_agent.holders.kinds import BASES_OF_CLASS, NAMES_OF_CLASS, is_a, namespace

STANDARD = getattr(sys, "stdlib_module_names", None)  # unknown before 3.10: nothing is told there
OTHERS = {"", "builtins", "numpy", "gpumem_agent"}  # whose objects are weighed, or ours
METHODS = ("method_descriptor", "builtin_function_or_method", "instancemethod", "nb_method")
METHODS += ("cython_function_or_method",)
WEIGHED = ("nbytes", "numel")  # names of a class whose objects tell their bytes: arrays
LATEST = 8  # elements that are asked
PARTS = 32  # of one
DEPTH = 2  # below one: a pair may have an object that wraps one of an extension


def add(holders, path, count, told, more=None):
    """Adds the container at the end of a path, which got so many elements, where they are
    such objects and none of the arrays that are told. More are facts of it."""
    kind = kind_of(path.chain[-1], told)
    if kind is not None:
        text = "%s objects below %s" % (name_of(kind), path.of_kind().partition(" ")[2])
        entries = {"is_dictionary": True} if is_a(path.chain[-1], dict) else {}
        holders.add(text, 0, count, {**path.facts(), **entries, **(more or {})})


def kind_of(container, told=()):
    """The class of an extension that all of a container's latest elements are of, or have an
    object of below them, each another one; None where that is not so."""
    items = [element[-1] for _, element in contents.latest(container)[:LATEST]]
    if any(id(item) in told for item in items):
        return None
    known = {}
    found = [_natives(item, known) for item in items]
    # What several elements have is none of what came.
    shared = {i for n, own in enumerate(found) for i in own if any(i in other for other in found[:n])}
    kinds = [next((k for i, k in own.items() if i not in shared and i not in told), None) for own in found]
    return kinds[0] if kinds and all(kind is kinds[0] for kind in kinds) else None


def _natives(item, known):
    """{identity: class} of the extensions' objects among an element and some of its parts, the
    closest first. Known are classes by identity: whether they are extensions'."""
    found, level, left = {}, [item], PARTS
    for _ in range(DEPTH + 1):
        parents, left = [], left - len(level)
        for part in level:
            kind = type(part)
            if id(kind) not in known:
                known[id(kind)] = _is_native(kind)
            if known[id(kind)]:
                found[id(part)] = kind
            else:
                parents.append(part)
        level = list(itertools.islice(itertools.chain.from_iterable(map(_parts, parents)), max(0, left)))
    return found


def _parts(item):
    """Some of what an element has: as a tuple, a list or a dictionary, or as attributes."""
    if is_a(item, (tuple, list)):
        return list(itertools.islice((tuple if is_a(item, tuple) else list).__iter__(item), PARTS))
    if is_a(item, (type, types.FunctionType, types.ModuleType)):
        return []
    names = item if is_a(item, dict) else namespace(item)
    return list(itertools.islice(dict.values(names), PARTS)) if is_a(names, dict) else []


def _is_native(kind):
    """Whether a class is an extension's, or made from one, and none of arrays."""
    bases = BASES_OF_CLASS(kind)
    is_array = any(name in NAMES_OF_CLASS(base) for base in bases for name in WEIGHED)
    return not is_array and any(map(_is_of_extension, bases))


def _is_of_extension(kind):
    """Whether a class has methods, and none of them is Python's. It is
    not asked itself. One whose objects say which of them are alike, such as a type of numbers
    or a device, is of values, which hold nothing."""
    module = type.__getattribute__(kind, "__module__")
    top = module.partition(".")[0] if type(module) is str else ""
    if STANDARD is None or top in STANDARD or top in OTHERS or top not in sys.modules:
        return False
    names = NAMES_OF_CLASS(kind)
    if names.get("__hash__") is not None or issubclass(kind, contents.SIZED):
        return False
    values = list(names.values())
    has_methods = any(type(value).__name__ in METHODS for value in values)
    return has_methods and not any(map(_is_python, values))


def _is_python(value):
    """Whether what a class has for a name is written in Python. A property may be of C++."""
    read = property.fget.__get__(value) if is_a(value, property) else value
    return is_a(read, types.FunctionType)
