"""Kinds of objects, and questions to objects that run no code of theirs: a
proxy's answer to an innocent isinstance may load half a program."""

import collections
import functools
import os
import sys
import types

SUSPENDED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
LRU_CACHE = type(functools.lru_cache(maxsize=1)(len))
SEQUENCES = (list, tuple, set, frozenset, collections.deque)
CELL = type((lambda x: lambda: x)(0).__closure__[0])
NAMED = (types.FunctionType, type, types.FrameType, LRU_CACHE) + SUSPENDED
OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # of all the agent
RANKS = (0, 1, 2)  # see rank_of


def is_a(item, kinds):
    """isinstance without asking the object: a proxy's answer may run code of
    the program's."""
    return issubclass(type(item), kinds)


def namespace(item):
    """An object's __dict__, past any code of the program's; {} without one."""
    if is_a(item, type):
        return vars(item)
    try:
        return object.__getattribute__(item, "__dict__")
    except AttributeError:
        return {}


def code_of(item):
    for name in ("f_code", "__code__", "gi_code", "cr_code", "ag_code"):
        if not is_a(item, type) and hasattr(item, name):
            return getattr(item, name)
    return None


def frame_of(item):
    for name in ("gi_frame", "cr_frame", "ag_frame"):
        if hasattr(item, name):
            return getattr(item, name)
    return None


def is_library(file):
    """Whether a file is a library's or the interpreter's, not the program's."""
    if "site-packages" in file or "dist-packages" in file or file.startswith(OWN_FOLDER):
        return True
    return file.startswith((os.path.dirname(os.__file__), "<frozen"))


def rank_of(code):
    """How well a person knows the variables of a function: 0 those of the program's
    functions, beside its modules; 1 those of its methods, where self is an object
    that has better names mostly; 2 those of libraries."""
    if is_library(code.co_filename):
        return 2
    return int(code.co_varnames[:1] in (("self",), ("cls",)))


def script_name(module):
    """`train` for the main module of train.py, else the module's name."""
    if module != "__main__":
        return str(module)
    # At exit the interpreter has already taken __file__ away.
    file = getattr(sys.modules.get("__main__"), "__file__", None) or sys.argv[0]
    name = os.path.splitext(os.path.basename(str(file)))[0]
    return name if name.isidentifier() else "__main__"


def module_names():
    """{identity of a module's namespace: (its name, its file)}."""
    names = {}
    for name, module in list(sys.modules.items()):
        if is_a(module, types.ModuleType):
            names_of = namespace(module)
            file = names_of.get("__file__")
            if name != "__main__" and id(names_of) in names:
                continue  # another name of the same module: the first is shown
            names[id(names_of)] = (script_name(name), file if type(file) is str else "")
    return names
