"""The host heap: what the C library's and Python's allocators have handed out.

host_heap_bytes = mallinfo2's uordblks + hblkhd, and the bytes in blocks of
Python's small-object allocator, whose arenas are mapped beside the C heap and
are in neither figure.

host_heap_free_bytes = mallinfo2's fordblks, on macOS size_allocated less
size_in_use: what was given back to the C heap and lies in it between blocks that
are in use.

mallinfo2 walks the free lists of each arena with that arena's lock held: there
is no way to ask glibc without. The reading is therefore on a budget of its own
(see sampling): at most twice a second and at most .1 % of the time. Measured
on a 2-core x86-64 VM, 2026-11-20: mallinfo2 1 to 10 µs; Python's figure 35 µs
for a small heap, .4 to 1.6 ms a GB in 3.10 to 3.13. GPUMEM_HOST_HEAP=0 turns
it off.

Python's figure comes from _PyObject_DebugMallocStats, which prints to a C
stream; it gets one in memory. It runs under the interpreter's lock and takes
no other.
"""

import os
import sys

from gpumem_agent.native import Native

BYTES_LINE = b"# bytes in allocated blocks"


def open_heap():
    """A reader for this system, or None when there is none."""
    if os.environ.get("GPUMEM_HOST_HEAP") == "0":
        return None
    try:
        native = Native()
        system = _Darwin if sys.platform == "darwin" else _Glibc
        return Heap(system(native), _Small.open(native))
    except (ImportError, OSError, AttributeError, TypeError):
        return None


class Heap:
    def __init__(self, system, small):
        self._system = system
        self._small = small
        self._last = None  # bytes of small objects when they were known last
        self.about = None  # bytes in use at the last reading, with those

    def bytes(self):
        """Bytes in use, or None when one of the two parts is unknown."""
        if self._small is None:
            return None
        small, system = self._small.bytes(), self._system.bytes()
        if small is not None:
            self._last = small
        self.about = None if self._last is None else system + self._last
        return None if small is None else system + small

    def free_bytes(self):
        """Bytes that the C heap kept free at the last reading, or None when the
        system does not tell."""
        return self._system.free

    def trim(self):
        """Gives free heap back to the operating system. Returns the bytes it
        believes to have given, or None when the system does not tell."""
        return self._system.trim()


class _Glibc:
    """mallinfo2 exists from glibc 2.33 on; its older sister counts in int and
    is wrong beyond 2 GiB, so it is not used."""

    def __init__(self, native):
        for other in ("mallctl", "tc_version", "mi_version"):
            if native.has(other):  # jemalloc, tcmalloc, mimalloc in glibc's place
                raise OSError(other)
        names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
        info = native.structure(*((name, native.Size) for name in names.split()))
        self._info = native.function("mallinfo2", info)
        self._trim = native.function("malloc_trim", native.Int, native.Size)

    free = None

    def bytes(self):
        info = self._info()
        self.free = info.fordblks
        return info.uordblks + info.hblkhd

    def trim(self):
        before = resident()
        self._trim(0)
        after = resident()
        return None if before is None or after is None else max(0, before - after)


class _Darwin:
    def __init__(self, native):
        size, pointer = native.Size, native.Pointer
        statistics = native.structure(
            ("blocks_in_use", native.Unsigned),
            ("size_in_use", size),
            ("max_size_in_use", size),
            ("size_allocated", size),
        )
        self._statistics = statistics()
        self._by_reference = native.byref
        self._read = native.function("malloc_zone_statistics", None, pointer, pointer)
        self._relief = native.function("malloc_zone_pressure_relief", size, pointer, size)

    free = None

    def bytes(self):
        self._read(None, self._by_reference(self._statistics))
        used = self._statistics.size_in_use
        self.free = max(0, self._statistics.size_allocated - used)
        return used

    def trim(self):
        return self._relief(None, 0)


class _Small:
    """Python's allocator for small objects."""

    @classmethod
    def open(cls, native):
        """None when this interpreter does not tell."""
        if getattr(sys, "_is_gil_enabled", lambda: True)() is False:
            return None
        if sys.implementation.name != "cpython":
            return None
        return cls(native)

    def __init__(self, native):
        pointer = native.Pointer
        self._native = native
        self._serves = False  # it had blocks once
        self._open = native.function("open_memstream", pointer, pointer, pointer)
        self._close = native.function("fclose", native.Int, pointer)
        self._free = native.function("free", None, pointer)
        name = "_PyObject_DebugMallocStats"
        self._print = native.function(name, native.Int, pointer, is_python=True)

    def bytes(self):
        """Bytes in its blocks; 0 when it is not in use (PYTHONMALLOC=malloc:
        then the C heap has them all), None while somebody stands before it, as a
        window of samples does: it then says that it is not in use."""
        native = self._native
        text, size = native.Text(), native.Size()
        stream = self._open(native.byref(text), native.byref(size))
        if not stream:
            return None
        used = self._print(stream)
        self._close(stream)
        stats = text.value or b""
        self._free(text)
        if not used:
            return None if self._serves else 0
        self._serves = True
        for line in stats.splitlines():
            if line.startswith(BYTES_LINE):
                return int(line.rpartition(b"=")[2].replace(b",", b""))
        return None


def resident():
    """Resident bytes of this process, or None off Linux."""
    try:
        with open("/proc/self/statm", "rb") as f:
            pages = int(f.read().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
