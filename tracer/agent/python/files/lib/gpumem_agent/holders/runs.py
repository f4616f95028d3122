"""Whether a line of the program has run by now.

From Python 3.11 on the interpreter puts faster instructions in the place of those that have run some times, of each
line by itself (PEP 659), and dis shows these. Where it shows none nothing is known: the line has not run, or once
or twice, or the interpreter is an older one, or another than CPython."""

import dis
import os
import sys
import types

from gpumem_agent.holders.kinds import NAMES_OF_CLASS, code_of, is_a, namespace, wrapped_code

# What the names of such instructions begin with: others, as of loops, change with the function that they are in.
FASTER = (
    "LOAD_ATTR_",
    "LOAD_METHOD_",
    "LOAD_GLOBAL_",
    "STORE_ATTR_",
    "STORE_SUBSCR_",
    "BINARY_SUBSCR_",
    "BINARY_OP_",
    "COMPARE_OP_",
    "CONTAINS_OP_",
    "PRECALL_",
    "CALL_",
)
WAITING = "_ADAPTIVE"  # 3.11 has these from when the function has run


def has_run(site):
    """Whether the line of a site, as "file:line function", is known to have run some times: one of a function or a
    method that a module of the program has a name for."""
    place, _, function = site.rpartition(" ")
    file, _, number = place.rpartition(":")
    if not number.isdigit():
        return False
    line = int(number)
    for code in _codes(file, function):
        if any(at == line for _, _, at in code.co_lines()):
            return any(_is_faster(one.opname) for one in _instructions(code) if one.positions.lineno == line)
    return False


def mark(told):
    """Says of some holders that the line has run that takes single elements out of them."""
    for entry in told:
        if "taken" in entry and "taken_ran" not in entry and has_run(entry["taken"]):
            entry["taken_ran"] = True


def _instructions(code):
    """The instructions of a function as they are by now; none where they stay as they were compiled."""
    return dis.get_instructions(code, adaptive=True) if hasattr(code, "_co_code_adaptive") else ()


def _is_faster(name):
    return name.startswith(FASTER) and name not in dis.opmap and not name.endswith(WAITING)


def _codes(file, function):
    """The code of each function of a name that the modules of a file have, and that of methods of their classes."""
    base = os.path.basename(file)
    for module in list(sys.modules.values()):
        names = namespace(module) if is_a(module, types.ModuleType) else {}
        known = names.get("__file__")
        if type(known) is not str or os.path.basename(known) != base:
            continue
        kinds = [kind for kind in list(names.values()) if is_a(kind, type)]
        for found in (names.get(function), *(NAMES_OF_CLASS(kind).get(function) for kind in kinds)):
            if is_a(found, types.FunctionType):
                yield from (code for code in (wrapped_code(found), code_of(found)) if code is not None)
