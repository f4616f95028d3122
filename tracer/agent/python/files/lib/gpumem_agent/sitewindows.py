"""Windows of some seconds in which the interposer samples an allocator's blocks with the lines
of Python that ask for them (tracer/capture/inject/samples.c).

What was asked for in the first half of such a window and lives at its end is told by line. Most
of what a program only works with is gone by then.
"""

import sys

from gpumem_agent.own import own

FIRST_SECONDS = 5.0  # before the first window
SECONDS = 5.0  # of a window, at most
COST = 0.1  # seconds that one may take of the program, until it is closed early
APART = 3  # windows' lengths between the first two; later ones are further apart
RISING = 3.0  # seconds over which what is held must have risen
LEAST = 1 << 20  # bytes, by so much at least
LOADED = 8  # modules that may come in meanwhile; a library brings more
PERIOD = 128 << 10  # bytes, of which one is sampled
ROOM = 64 << 10  # bytes that the interposer writes
LONGEST = 50  # lines told
OURS = "/gpumem_agent/"  # is in the path of a file of the agent's


class SiteWindows:
    """The windows of one process on one allocator. A subclass says what is held of it, and whether a
    window is of use now, and opens the interposer's doors."""

    kind = None  # of the event that tells a window
    call = 10e-9  # seconds that a window takes of the program for each block it asks for, and gives back

    def __init__(self):
        self._begun = self._next = own.monotonic() + FIRST_SECONDS
        self._apart = APART * SECONDS
        self._seen = []  # (when, bytes held, modules), of the last seconds
        self._doors = None  # False where there are none
        self._opened = None  # when the window was that is open

    def held(self, process):
        """Bytes of the allocator that are held, or None."""
        raise NotImplementedError

    def is_wanted(self, process):
        """Whether a window tells more than is known."""
        raise NotImplementedError

    def open_doors(self, process):
        """The interposer's functions open, close and calls (see Doors); None where it has none."""
        raise NotImplementedError

    def look(self, process, now):
        """Opens and closes windows. Returns the detail of a mark when one is over that lasted, else
        None."""
        if self._opened is not None:
            return self._watch(now)
        if self._doors is False or now < self._next - RISING:
            return None
        held = self.held(process)
        if held is None:
            return None
        self._note(now, held)
        if now >= self._next and self._is_rising() and self.is_wanted(process):
            self._open(process, now)
        return None

    def _watch(self, now):
        """Closes the window when its time is over, or it has cost enough."""
        lasted = now - self._opened
        if lasted < SECONDS and self._doors.calls() * self.call < COST:
            return None
        lines = self.close(lasted / 2)
        if lasted < SECONDS / 2:
            return None
        # Where nothing stayed that is told as well: what stayed in another window came in both.
        return {self.kind: lines[:LONGEST], "seconds": lasted / 2}

    def _note(self, now, held):
        """Remembers what was held in the last seconds."""
        if not self._seen or self._seen[-1][1] != held:
            self._seen.append((now, held, len(sys.modules)))
        while len(self._seen) > 2 and now - self._seen[1][0] >= RISING:
            del self._seen[0]

    def _is_rising(self):
        """Whether it has risen, and not because the program loads its code."""
        then, now = self._seen[0], self._seen[-1]
        lasted, more, modules = (b - a for a, b in zip(then, now))
        return lasted >= RISING / 2 and more >= LEAST and modules <= LOADED

    def _open(self, process, now):
        self._next = now + self._apart
        self._apart *= 2
        if self._doors is None:
            self._doors = self.open_doors(process) or False
        if self._doors and self._doors.open():
            self._opened = now

    def close(self, seconds=0.0):
        """Ends the window that is open: a list of the sites of its first seconds, most bytes
        first."""
        if self._opened is None:
            return []
        self._opened, self._seen = None, []
        return self._doors.close(seconds)


class Doors:
    """The interposer's functions for one allocator: those that begin with a name. calls tells how many
    blocks were asked for since the window that is open was."""

    def __init__(self, native, name, is_python=False):
        """is_python: they are called under the interpreter's lock."""
        self._native = native
        self._of_native = None if is_python else native.function("%s_open" % name, native.Int, native.Size)
        self._text = (native.Char * ROOM)()
        of = native.function
        self.calls = of("%s_calls" % name, native.Count)
        arguments = native.Unsigned, native.Pointer, native.Size
        self._close = of("%s_close" % name, native.Size, *arguments, is_python=is_python)

    def open(self):
        """Begins to sample. Returns whether that is possible."""
        return bool(self._of_native(PERIOD))

    def close(self, seconds):
        """Ends it. Returns what the interposer tells of the first seconds: a list of sites,
        most bytes first."""
        n = self._close(int(seconds * 1000), self._native.byref(self._text), ROOM)
        sites = {}
        for line in bytes(self._text)[:n].decode("ascii", "replace").splitlines():
            size, data, count, site = line.split(" ", 3)
            site, _, caller = site.partition("\t")
            if OURS in site:
                continue
            entry = sites.setdefault(site, {"site": site, "bytes": 0, "count": 0})
            entry["bytes"] += int(size)
            entry["count"] += int(count)
            if caller and OURS not in caller:
                entry.setdefault("caller", caller)
            if int(data):
                entry["array_bytes"] = entry.get("array_bytes", 0) + int(data)
        return sorted(sites.values(), key=lambda site: -site["bytes"])


def doors_of(process, name, make):
    """What make makes of the process's C functions, where the interposer has one of that name and knows
    the lines of this process; else None."""
    if not process.arrivals.knows_lines():
        return None
    try:
        from gpumem_agent.native import Native

        native = Native()
        return make(native) if native.has(name) else None
    except (ImportError, OSError, AttributeError, TypeError):
        return None
