"""Which lines of the program fill a container of a chain of references: see fillers. Where a
library fills one of its own, it is the program's calls that lead there (see calls).
"""

import functools
from collections import deque

from gpumem_agent.frameworks import torch_names
from gpumem_agent.frameworks.torch_names import GROUPS, TABLES, is_container, is_hooks
from gpumem_agent.holders import cycles
from gpumem_agent.holders.calls import Called, is_callable, library_files, methods_of
from gpumem_agent.holders.fillers import (
    ARRAYS,
    ATTRIBUTES,
    HOOKS,
    OF_CONTEXT,
    THREADS,
    Filler,
    Keyed,
    OfClass,
    Returned,
    returned,
)
from gpumem_agent.holders.kinds import (
    CELL,
    LRU_CACHE,
    SUSPENDED,
    THREAD_LOCAL,
    Contexts,
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
from gpumem_agent.holders.texts import module_file


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
        return code and returned(code.co_filename, code.co_firstlineno, code.co_name)
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
