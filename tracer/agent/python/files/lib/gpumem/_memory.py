"""What lives in this process: read at quiet moments, and compared."""

from __future__ import annotations

import time

from gpumem import _binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SETTLE_ROUNDS = 5  # at most, until two readings agree
SETTLE_SECONDS = 0.01
SURVIVORS_SECONDS = 10.0  # for the search of who holds what: a test that has failed can wait
SURVIVORS = 5  # that a failure names
UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
ROOMS = 200000  # objects that are looked at below what a function returns


class Memory:
    """The readings of one process. Not for several threads at once."""

    def __init__(self) -> None:
        _binary.agent_modules()
        from gpumem_agent import frameworks, hostheap, imports

        self._heap = hostheap.open_heap()
        self._imports, self._make = imports, frameworks.make
        self._frameworks: dict[str, Any] = {}
        self._register: Any = None

    @property
    def frameworks(self) -> list[Any]:
        """Frameworks that the program has imported by now."""
        for name, file in self._imports.FRAMEWORKS.items():
            module = self._imports.loaded(name)
            if module is not None and name not in self._frameworks:
                made = self._make(file, module, _Unarmed)
                if file == "cupy":
                    made.arm()
                self._frameworks[name] = made
        return list(self._frameworks.values())

    def active(self) -> list[Any]:
        """Those whose device the program has brought to life."""
        return [f for f in self.frameworks if f.active()]

    def heap_bytes(self) -> int | None:
        """Bytes of the host heap in use, or None when nobody tells."""
        return self._heap.bytes() if self._heap else None

    def settle(self) -> Reading:
        """A reading after garbage and idle memory are gone, once two readings
        agree or the patience is over."""
        last = self._reading()
        for _ in range(SETTLE_ROUNDS):
            reading = self._reading()
            if reading == last:
                break
            last = reading
            time.sleep(SETTLE_SECONDS)
        return last

    def _reading(self) -> Reading:
        import gc

        gc.collect()
        active = self.active()
        for framework in active:
            framework.sync()
            framework.purge()
        if not active:
            return Reading("host heap", self.heap_bytes(), None)
        row: dict[str, int] = {}
        for framework in active:
            framework.sample(row)
        return Reading("device", row.get("pool_live_bytes"), row.get("live_count"))

    def note(self) -> None:
        """Notes what lives, for survivors."""
        from gpumem_agent.holders.register import Register

        self._register = Register.of(self.frameworks)

    def survivors(self) -> list[str]:
        """Lines that name what was made since note and still lives."""
        return [
            "%s (%d, %s)" % (holder["path"], holder["count"], human(holder["bytes"]))
            for holder in self.holders()
        ]

    def holders(self) -> list[dict[str, Any]]:
        """Who holds what was made since note and still lives, as the agent tells it."""
        import types

        from gpumem_agent.holders import ending

        view = types.SimpleNamespace(
            frameworks=self.frameworks, survivors=self._register, exiting=True
        )
        found: list[dict[str, Any]] = ending.find(view, time.monotonic() + SURVIVORS_SECONDS)
        return found

    def reachable(self, root: object) -> int | None:
        """Bytes of what root holds: of arrays where a device is in use, else of
        objects. None when there is too much to look at."""
        import gc
        import sys
        import types

        if root is None:
            return 0
        active, arrays = self.active(), {}
        seen, objects, rest = {id(root)}, 0, [root]
        skipped = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
        while rest:
            found = rest.pop()
            if isinstance(found, skipped):
                continue
            if len(seen) > ROOMS:
                return None
            objects += sys.getsizeof(found, 0)
            for framework in active:
                if isinstance(found, framework.types()):
                    described = framework.describe(found)
                    if described is not None:
                        arrays[described[0]] = described[1]
            for below in gc.get_referents(found):
                if id(below) not in seen:
                    seen.add(id(below))
                    rest.append(below)
        return sum(arrays.values()) if active else objects


class _Unarmed:
    """Stands for the traced process where frameworks only tell figures."""

    sites_wanted = False


class Reading:
    """Live bytes and arrays at one moment; None is unknown."""

    def __init__(self, place: str, live: int | None, count: int | None) -> None:
        self.place = place
        self.live = live
        self.count = count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reading):
            return NotImplemented
        return (self.place, self.live, self.count) == (other.place, other.live, other.count)

    __hash__ = None  # type: ignore[assignment]

    def kept_since(self, before: Reading, tolerance: int) -> Kept | None:
        """What was kept since an earlier reading, or None when it is within
        the tolerance or cannot be told."""
        if self.live is None or before.live is None:
            return None
        if self.place != before.place:
            return None  # the device came to life in between: a first time
        if self.live - before.live <= tolerance:
            return None
        count = None
        if self.count is not None and before.count is not None:
            count = self.count - before.count
        return Kept(self.place, self.live - before.live, count)


class Kept:
    """What one run kept beyond its tolerance."""

    def __init__(self, place: str, live: int, count: int | None) -> None:
        self.place = place
        self.live = live
        self.count = count
        self.survivors: list[str] = []

    def __str__(self) -> str:
        text = "%s of %s more" % (human(self.live), self.place)
        return text if self.count is None else "%s, %+d arrays" % (text, self.count)


def size(text: int | str) -> int:
    """Bytes of a size such as 4096, "64KiB" or "1.5 MiB". Raises ValueError."""
    if isinstance(text, int):
        return text
    number = text.strip().lower()
    unit = number.lstrip("0123456789. ")
    known = unit.replace("ib", "").replace("b", "") if unit != "b" else ""
    try:
        return int(float(number[: len(number) - len(unit)]) * UNITS[known])
    except (KeyError, ValueError):
        raise ValueError("gpumem: %r is not a size" % text) from None


def human(size_: int) -> str:
    """Bytes for people, in IEC units."""
    value = float(size_)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024 or unit == "GiB":
            return "%d B" % value if unit == "B" else "%.1f %s" % (value, unit)
        value /= 1024
    return ""
