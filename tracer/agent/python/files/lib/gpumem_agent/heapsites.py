"""Which lines of the program ask for what stays on the host's heap.

Memory of the host that no name leads to, such as what an extension keeps of Python's
objects, has a line all the same: the one that asked for it. For a few seconds, while the heap
grows and no holder that is known explains it, the interposer samples what Python's allocators
hand out and give back, and what NumPy does for the data of arrays (tracer/capture/inject/heap.c).
What was asked for in the first half of such a window and lives at its end is told by line. Most
of what a program only works with is gone by then.
"""

import sys

from gpumem_agent import imports
from gpumem_agent.own import own

FIRST_SECONDS = 5.0  # of a life, before the first window
SECONDS = 5.0  # of a window, at most
CALL = 10e-9  # seconds that a window takes of the program for each block it asks for, and gives back
COST = 0.1  # seconds that one may take of the program, until it is closed early
APART = 3  # windows' lengths between the first two; later ones are further apart
RISING = 3.0  # seconds over which the heap must have risen
LEAST = 1 << 20  # bytes, by so much at least
LOADED = 8  # modules that may come in meanwhile; a library brings more
PERIOD = 128 << 10  # bytes, of which one is sampled
ROOM = 64 << 10  # bytes that the interposer writes
LONGEST = 50  # lines told
OURS = "/gpumem_agent/"  # is in the path of a file of the agent's


class HeapSites:
    """The windows of one process."""

    def __init__(self):
        self._begun = self._next = own.monotonic() + FIRST_SECONDS
        self._apart = APART * SECONDS
        self._seen = []  # (when, bytes of the heap, modules), of the last seconds
        self._doors = None  # False where there are none
        self._opened = None  # when the window was that is open

    def look(self, process, now):
        """Opens and closes windows. Returns the detail of a mark when there is something to
        tell, else None."""
        if self._opened is not None:
            return self._watch(now)
        heap = process.figures.heap_bytes
        if self._doors is False or heap is None or now < self._next - RISING:
            return None
        self._note(now, heap)
        if now >= self._next and self._is_rising() and not process.surveys.explains(process):
            self._open(process, now)
        return None

    def _watch(self, now):
        """Closes the window when its time is over, or it has cost enough."""
        lasted = now - self._opened
        if lasted < SECONDS and self._doors.calls() * CALL < COST:
            return None
        lines = self.close(lasted / 2)
        if lasted < SECONDS / 2 or not lines:
            return None
        return {"host_sites": lines[:LONGEST], "seconds": lasted / 2}

    def _note(self, now, heap):
        """Remembers the heap of the last seconds."""
        if not self._seen or self._seen[-1][1] != heap:
            self._seen.append((now, heap, len(sys.modules)))
        while len(self._seen) > 2 and now - self._seen[1][0] >= RISING:
            del self._seen[0]

    def _is_rising(self):
        """Whether the heap has risen, and not because the program loads its code."""
        then, now = self._seen[0], self._seen[-1]
        lasted, more, modules = (b - a for a, b in zip(then, now))
        return lasted >= RISING / 2 and more >= LEAST and modules <= LOADED

    def _open(self, process, now):
        self._next = now + self._apart
        self._apart *= 2
        if self._doors is None:
            self._doors = open_doors(process) or False
        if self._doors and self._doors.open():
            self._opened = now

    def close(self, seconds=0.0):
        """Ends the window that is open: a list of the sites of its first seconds, most bytes
        first."""
        if self._opened is None:
            return []
        self._opened, self._seen = None, []
        return self._doors.close(seconds)


def open_doors(process):
    """The interposer's windows; None where it has none, or knows no lines of this process, or
    where blocks are handed out by several threads at a time."""
    if not process.arrivals.knows_lines() or "free-threading" in sys.version:
        return None
    try:
        from gpumem_agent.native import Native

        native = Native()
        return Doors(native) if native.has("gpumem_heap_arrays") else None
    except (ImportError, OSError, AttributeError, TypeError):
        return None


class Doors:
    """The interposer's functions. calls tells how many blocks were asked for since the window
    that is open was."""

    def __init__(self, native):
        self._native = native
        shape = native.structure(("get", native.Size), ("set", native.Size))
        self._doors = shape(native.address("PyMem_GetAllocator"), native.address("PyMem_SetAllocator"))
        self._text = (native.Char * ROOM)()
        of = native.function
        self._handler = None  # of arrays' data: None while NumPy is not loaded, 0 where it is not known
        self._is_locked = native.address("PyGILState_Check")
        self.calls = of("gpumem_heap_calls", native.Count)
        self._first = of("PyInterpreterState_Head", native.Pointer, is_python=True)
        self._next = of("PyInterpreterState_Next", native.Pointer, native.Pointer, is_python=True)
        self._open = of("gpumem_heap_open", native.Int, native.Pointer, native.Size, is_python=True)
        self._arrays = of(
            *("gpumem_heap_arrays", native.Int, native.Size, native.Size), is_python=True
        )
        self._close = of(
            *("gpumem_heap_close", native.Size, native.Unsigned, native.Pointer, native.Size),
            is_python=True
        )

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
        return True

    def close(self, seconds):
        """Ends it. Returns what the interposer tells of the first seconds: a list of sites,
        most bytes first."""
        n = self._close(int(seconds * 1000), self._native.byref(self._text), ROOM)
        sites = {}
        for line in bytes(self._text)[:n].decode("ascii", "replace").splitlines():
            size, data, count, site = line.split(" ", 3)
            if OURS in site:
                continue
            entry = sites.setdefault(site, {"site": site, "bytes": 0, "count": 0})
            entry["bytes"] += int(size)
            entry["count"] += int(count)
            if int(data):
                entry["array_bytes"] = entry.get("array_bytes", 0) + int(data)
        return sorted(sites.values(), key=lambda site: -site["bytes"])
