"""The host heap: what the C library's and Python's allocators have handed out.

host_heap_bytes = mallinfo2's uordblks + hblkhd, and the bytes in blocks of
Python's small-object allocator, whose arenas are mapped beside the C heap and
are in neither figure.

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

BYTES_LINE = b"# bytes in allocated blocks"


def open_heap():
    """A reader for this system, or None when there is none."""
    if os.environ.get("GPUMEM_HOST_HEAP") == "0":
        return None
    try:
        import ctypes

        if sys.platform == "darwin":
            return Heap(_Darwin(ctypes), _Small.open(ctypes))
        return Heap(_Glibc(ctypes), _Small.open(ctypes))
    except (ImportError, OSError, AttributeError, TypeError):
        return None


class Heap:
    def __init__(self, system, small):
        self._system = system
        self._small = small

    def bytes(self):
        """Bytes in use, or None when one of the two parts is unknown."""
        if self._small is None:
            return None
        small = self._small.bytes()
        return None if small is None else self._system.bytes() + small

    def trim(self):
        """Gives free heap back to the operating system. Returns the bytes it
        believes to have given, or None when the system does not tell."""
        return self._system.trim()


class _Glibc:
    """mallinfo2 exists from glibc 2.33 on; its older sister counts in int and
    is wrong beyond 2 GiB, so it is not used."""

    def __init__(self, ctypes):
        names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"

        class Mallinfo2(ctypes.Structure):
            _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

        libc = ctypes.CDLL(None)
        for other in ("mallctl", "tc_version", "mi_version"):
            if hasattr(libc, other):  # jemalloc, tcmalloc, mimalloc in glibc's place
                raise AttributeError(other)
        self._info = libc.mallinfo2
        self._info.restype = Mallinfo2
        self._trim = libc.malloc_trim
        self._trim.argtypes = [ctypes.c_size_t]

    def bytes(self):
        info = self._info()
        return info.uordblks + info.hblkhd

    def trim(self):
        before = resident()
        self._trim(0)
        after = resident()
        return None if before is None or after is None else max(0, before - after)


class _Darwin:
    def __init__(self, ctypes):
        class Statistics(ctypes.Structure):
            _fields_ = [
                ("blocks_in_use", ctypes.c_uint),
                ("size_in_use", ctypes.c_size_t),
                ("max_size_in_use", ctypes.c_size_t),
                ("size_allocated", ctypes.c_size_t),
            ]

        libc = ctypes.CDLL(None)
        self._statistics = Statistics()
        self._by_reference = ctypes.byref
        self._read = libc.malloc_zone_statistics
        self._read.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self._relief = libc.malloc_zone_pressure_relief
        self._relief.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self._relief.restype = ctypes.c_size_t

    def bytes(self):
        self._read(None, self._by_reference(self._statistics))
        return self._statistics.size_in_use

    def trim(self):
        return self._relief(None, 0)


class _Small:
    """Python's allocator for small objects."""

    @classmethod
    def open(cls, ctypes):
        """None when this interpreter does not tell."""
        if getattr(sys, "_is_gil_enabled", lambda: True)() is False:
            return None
        if sys.implementation.name != "cpython":
            return None
        return cls(ctypes)

    def __init__(self, ctypes):
        libc = ctypes.CDLL(None)
        self._ctypes = ctypes
        self._open = libc.open_memstream
        self._open.restype = ctypes.c_void_p
        self._open.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self._close = libc.fclose
        self._close.argtypes = [ctypes.c_void_p]
        self._free = libc.free
        self._free.argtypes = [ctypes.c_void_p]
        self._print = ctypes.pythonapi._PyObject_DebugMallocStats
        self._print.argtypes = [ctypes.c_void_p]

    def bytes(self):
        """Bytes in its blocks; 0 when it is not in use (PYTHONMALLOC=malloc:
        then the C heap has them all)."""
        ctypes = self._ctypes
        text, size = ctypes.c_void_p(), ctypes.c_size_t()
        stream = self._open(ctypes.byref(text), ctypes.byref(size))
        if not stream:
            return None
        used = self._print(stream)
        self._close(stream)
        stats = ctypes.string_at(text.value, size.value)
        self._free(text)
        if not used:
            return 0
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
