"""Containers whose elements are objects of an extension: what these have is in C++ or Rust,
where neither the collector nor their size shows it.

Such objects are told in number alone, and by the container that got more of them: whether
they hold what came nobody in Python sees. It is a hint where nothing else explains a growth,
and no holder of bytes.
"""

import sys
import types

from gpumem_agent.holders import contents
from gpumem_agent.holders.classes import name_of
from gpumem_agent.holders.kinds import NAMES_OF_CLASS, is_a, namespace

STANDARD = getattr(sys, "stdlib_module_names", None)  # unknown before 3.10: nothing is told there
OTHERS = {"", "builtins", "numpy", "gpumem_agent"}  # whose objects are weighed, or ours
CODE = (types.FunctionType, property)  # of a class that is written in Python
METHODS = ("method_descriptor", "builtin_function_or_method", "instancemethod", "nb_method")
LATEST = 8  # elements that are asked
ATTRIBUTES = 32  # of one


def add(holders, path, count, told):
    """Adds the container at the end of a path, which got so many elements, where they are
    such objects and none of the arrays that are told."""
    kind = kind_of(path.chain[-1], told)
    if kind is not None:
        text = "%s objects below %s" % (name_of(kind), path.of_kind().partition(" ")[2])
        holders.add(text, 0, count, path.facts())


def kind_of(container, told=()):
    """The class of an extension that all of a container's latest elements are of, or have an
    object of among their attributes; None where that is not so."""
    items = [element[-1] for _, element in contents.latest(container)[:LATEST]]
    if any(id(item) in told for item in items):
        return None
    found = {_native(item) for item in items}
    return found.pop() if len(found) == 1 else None


def _native(item):
    """The class of an element, or of the first attribute, that is an extension's."""
    if _is_native(type(item)):
        return type(item)
    values = list(namespace(item).values())[:ATTRIBUTES] if not is_a(item, type) else ()
    return next((type(value) for value in values if _is_native(type(value))), None)


def _is_native(kind):
    """Whether a class is an extension's: it has methods, and none of them is Python's. It is
    not asked itself."""
    module = type.__getattribute__(kind, "__module__")
    top = module.partition(".")[0] if type(module) is str else ""
    if STANDARD is None or top in STANDARD or top in OTHERS or top not in sys.modules:
        return False
    values = list(NAMES_OF_CLASS(kind).values())
    has_methods = any(type(value).__name__ in METHODS for value in values)
    return has_methods and not any(is_a(value, CODE) for value in values)

