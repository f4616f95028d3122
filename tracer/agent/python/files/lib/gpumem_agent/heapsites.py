"""Which lines of the program ask for what stays on the host's heap.

Memory of the host that no name leads to, such as what an extension keeps of Python's
objects, has a line all the same: the one that asked for it. For a few seconds, while the heap
grows and no holder that is known explains it, the interposer samples what Python's allocators
hand out and give back, and what NumPy does for the data of arrays (tracer/capture/inject/heap.c), and
PyTorch for that of tensors (blocks.c).
"""

import sys

from gpumem_agent import imports
from gpumem_agent.sitewindows import PERIOD, Doors, SiteWindows, doors_of


class HeapSites(SiteWindows):
    """The windows of one process."""

    kind = "host_sites"

    def held(self, process):
        return process.figures.heap_bytes

    def is_wanted(self, process):
        return not process.surveys.explains(process)

    def open_doors(self, process):
        return open_doors(process)


def open_doors(process):
    """The interposer's windows; None where it has none, or knows no lines of this process, or
    where blocks are handed out by several threads at a time."""
    if "free-threading" in sys.version:
        return None
    return doors_of(process, "gpumem_heap_arrays", HeapDoors)


class HeapDoors(Doors):
    """Those of the heap, which are called under the interpreter's lock."""

    def __init__(self, native):
        super().__init__(native, "gpumem_heap", is_python=True)
        shape = native.structure(("get", native.Size), ("set", native.Size))
        self._doors = shape(native.address("PyMem_GetAllocator"), native.address("PyMem_SetAllocator"))
        of = native.function
        self._tensors = Doors(native, "gpumem_tensors")
        self._of_heap = self.calls
        self.calls = lambda: self._of_heap() + self._tensors.calls()
        self._handler = None  # of arrays' data: None while NumPy is not loaded, 0 where it is not known
        self._is_locked = native.address("PyGILState_Check")
        self._first = of("PyInterpreterState_Head", native.Pointer, is_python=True)
        self._next = of("PyInterpreterState_Next", native.Pointer, native.Pointer, is_python=True)
        self._open = of("gpumem_heap_open", native.Int, native.Pointer, native.Size, is_python=True)
        self._arrays = of("gpumem_heap_arrays", native.Int, native.Size, native.Size, is_python=True)

    def open(self):
        """Begins to sample. Returns whether that is possible: not beside another interpreter,
        which may have a lock of its own."""
        if self._next(self._first()):
            return False
        if self._handler is None:
            try:
                self._handler = imports.bring("gpumem_agent.arraydata").find_handler(self._native)
            except Exception:  # whatever is not as it is known to be
                self._handler = 0
        if not self._open(self._native.byref(self._doors), PERIOD):
            return False
        if self._handler:
            self._arrays(self._handler, self._is_locked)
        self._tensors.open()  # where PyTorch is
        return True

    def close(self, seconds):
        tensors = self._tensors.close(seconds)
        for site in tensors:
            site["tensor_bytes"] = site["bytes"]
        return sorted(super().close(seconds) + tensors, key=lambda site: -site["bytes"])
