"""Where NumPy keeps its functions for the data of arrays.

NumPy asks a handler for it (PyDataMem_Handler, NEP 49). One could be set in place of NumPy's
own, but for one context, which other threads and tasks do not share. So the interposer puts its
functions into the struct of the default one for a while (tracer/capture/inject/heap.c). It is
found by NumPy's table for extensions, and taken for what it should be only where all about it
is as known: the names, the version, and whose functions are in it.
"""

import sys

from gpumem_agent.mappings import MAPS

MODULES = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")
WORD = 8
DEFAULT_HANDLER = 306  # in the table: where PyDataMem_DefaultHandler is, a capsule
TYPE = object.__basicsize__ - WORD  # in an object
CAPSULE, NAME, VERSION = b"mem_handler", b"default_allocator", 1
NAME_ROOM, FUNCTIONS, SIZE = 127, 136, 168  # of a handler; behind the version and a context
EXECUTABLE, WRITABLE = "x", "w"


def find_handler(native):
    """The address of the handler; None while NumPy is not loaded, and 0 where its handler is
    not known well enough to be changed. Raises OSError where something of C's is not there."""
    module = next((sys.modules[name] for name in MODULES if name in sys.modules), None)
    names = getattr(module, "__dict__", {})
    table = names.get("_ARRAY_API")
    if table is None or "numpy" not in sys.modules:
        return None
    if "get_handler_name" not in names or not cannot_lie(native):
        return 0  # before 1.22
    memory = Memory(native)
    handler = _handler(native, memory, table)
    return handler if handler and _is_known(memory, handler, module.__file__) else 0


def cannot_lie(native):
    """Whether the interpreter tells who has its lock: after it had another one beside it, it
    says that all have. The call is made without the lock."""
    return native.function("PyGILState_Check", native.Int)() == 0


def _handler(native, memory, table):
    """Where the default handler is, by the table's entry; 0 where there is none."""
    pointer_of = native.function(
        *("PyCapsule_GetPointer", native.Pointer, native.Pointer, native.Text), is_python=True
    )
    capsule = memory.word(memory.word(pointer_of(id(table), None) + DEFAULT_HANDLER * WORD))
    if memory.word(capsule + TYPE) != id(type(table)):
        return 0
    return pointer_of(capsule, CAPSULE)


def _is_known(memory, handler, file):
    """Whether it is NumPy's own, with NumPy's functions in it, and can be written to."""
    data = memory.bytes(handler, SIZE)
    if data[:NAME_ROOM].rstrip(b"\0") != NAME or data[NAME_ROOM] != VERSION:
        return False
    functions = [int.from_bytes(data[at : at + WORD], "little") for at in range(FUNCTIONS, SIZE, WORD)]
    name, places = file.rpartition("/")[2], list(mappings())
    code = [place for place in places if EXECUTABLE in place[2] and place[3] == name]
    return all(any(low <= at < high for low, high, _, _ in code) for at in functions) and any(
        low <= handler and handler + SIZE <= high for low, high, how, _ in places if WRITABLE in how
    )


def mappings():
    """The mappings of this process: (first address, end, permissions, name of the file)."""
    with open(MAPS, "rb", buffering=0) as file:
        text = file.readall().decode("utf-8", "replace")
    for line in text.splitlines():
        places, how, rest = line.split(" ", 2)
        low, high = places.split("-")
        yield int(low, 16), int(high, 16), how, rest.rpartition("/")[2]


class Memory:
    """Memory of this process, as far as the kernel says that there is any."""

    def __init__(self, native):
        self._native = native
        self._copy = native.function(
            *("gpumem_python_copy", native.Int, native.Size, native.Pointer, native.Size)
        )

    def bytes(self, at, size):
        """So many from an address. Raises OSError where that is none of memory."""
        data = (self._native.Char * size)()
        if not self._copy(at, self._native.byref(data), size):
            raise OSError("no memory at %#x" % at)
        return bytes(data)

    def word(self, at):
        """The word at an address."""
        return int.from_bytes(self.bytes(at, WORD), "little")
