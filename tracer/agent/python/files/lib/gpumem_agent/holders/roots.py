"""Where a look from the program's names down begins, and what it does not follow."""

import itertools
import sys
import types
import weakref

from gpumem_agent import atomic
from gpumem_agent.holders.kinds import is_a, is_library, namespace

# Types whose objects are not followed, beside classes: they refer to nothing,
# or to what the interpreter has for itself.
LEAVES = (
    *(type(x) for x in (None, ..., NotImplemented, True, 0, 0.0, 0j, "", b"", slice(0), range(0))),
    *(bytearray, memoryview, property, staticmethod, classmethod, weakref.ref),
    *(types.ModuleType, types.CodeType, types.MappingProxyType),
    *(types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.ClassMethodDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
)


def ours():
    """The type of what the program may have of the agent: below it are earlier looks."""
    process = getattr(sys.modules.get("gpumem_agent.process"), "Process", None)
    return () if process is None else (process,)


def namespaces(modules):
    """The namespaces of the program's modules, and its classes."""
    spaces = []
    for name, module in list(sys.modules.items()):
        if is_a(module, types.ModuleType):
            space = namespace(module)
            file = modules[id(space)][1] if id(space) in modules else ""
            if name == "__main__" or (file and not is_library(file)):
                spaces.append(space)
    values, classes = [], []
    kinds = atomic.among(atomic.types_of(values), atomic.family((type,)))
    atomic.once(
        atomic.fill(values, atomic.each(map(dict.values, spaces))),
        atomic.fill(classes, itertools.compress(values, kinds)),
        atomic.empty((values,)),
    )
    names = {space.get("__name__") for space in spaces}
    # Libraries' classes that have what programs register with them.
    kept = [getattr(sys.modules.get(m), n, None) for m, n in (("weakref", "finalize"), ("logging", "Logger"))]
    kept = [c for c in kept if is_a(c, type)]
    return spaces + [c for c in classes if namespace(c).get("__module__") in names] + kept
