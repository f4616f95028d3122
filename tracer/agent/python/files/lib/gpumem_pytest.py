"""pytest plugin: a leak check around every test.

    gpumem pytest -- tests/            or: pytest -p gpumem_pytest tests/

Before and after each test it collects garbage, gives idle memory back, waits
for the device, and compares what lives: bytes and arrays of the device where
the program has one, else the host heap. A test that keeps more than its
tolerance is run again; it fails when every repetition keeps more once more, so
that first-time work (contexts, caches, imports) accuses nobody.

    @pytest.mark.gpumem(warmup=2, tolerance="64KiB", confirm=1)
    @pytest.mark.gpumem(skip=True)

Options: --gpumem-tolerance (1MiB), --gpumem-warmup (0), --gpumem-confirm (1).
"""

import time
import types

import pytest
from _pytest import runner

SETTLE_ROUNDS = 5  # at most, until two readings agree
SETTLE_SECONDS = 0.01
UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
SURVIVORS = 5  # lines in a failure


def pytest_addoption(parser):
    group = parser.getgroup("gpumem", "memory a test keeps")
    group.addoption("--gpumem-tolerance", default="1MiB", help="bytes a test may keep")
    group.addoption("--gpumem-warmup", type=int, default=0, help="runs before the check")
    group.addoption("--gpumem-confirm", type=int, default=1, help="repetitions of a suspect")


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "gpumem(warmup=N, tolerance=SIZE, confirm=N, skip=False): the leak check of one test",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    limits = Limits.of(item)
    if limits.skip:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _Check(item, limits).run():
        item.ihook.pytest_runtest_logreport(report=report)
    _tear_down_rest(item, nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class Limits:
    """What a test may keep, from its marks and the options."""

    @classmethod
    def of(cls, item):
        option = item.config.getoption
        limits = cls()
        limits.tolerance = option("--gpumem-tolerance")
        limits.warmup = option("--gpumem-warmup")
        limits.confirm = option("--gpumem-confirm")
        limits.skip = False
        for mark in reversed(list(item.iter_markers("gpumem"))):
            for name, value in mark.kwargs.items():
                if name not in ("tolerance", "warmup", "confirm", "skip"):
                    raise pytest.UsageError("%s: gpumem mark: unknown %s" % (item.nodeid, name))
                setattr(limits, name, value)
        limits.tolerance = size(limits.tolerance)
        return limits


def size(text):
    """Bytes of a size such as 4096, "64KiB" or "1.5 MiB"."""
    if isinstance(text, int):
        return text
    number = text.strip().lower()
    unit = number.lstrip("0123456789. ")
    known = unit.replace("ib", "").replace("b", "") if unit != "b" else ""
    if known not in UNITS:
        raise pytest.UsageError("gpumem: no size: %r" % text)
    try:
        return int(float(number[: len(number) - len(unit)]) * UNITS[known])
    except ValueError:
        raise pytest.UsageError("gpumem: no size: %r" % text) from None


class _Check:
    """One test: warm-up runs, the measured run, and repetitions in doubt."""

    def __init__(self, item, limits):
        self._item = item
        self._limits = limits
        self._memory = Memory()

    def run(self):
        """The reports to log: of a failing warm-up, else of the measured run,
        whose call fails when the test leaks."""
        for _ in range(self._limits.warmup):
            reports = self._once()
            if not _passed(reports):
                return reports
        reports, kept = self._measure()
        if kept is None or not _passed(reports):
            return reports
        found = [kept]
        for _ in range(self._limits.confirm):
            again, kept = self._measure(survivors=True)
            if kept is None or not _passed(again):
                return reports
            found.append(kept)
        _fail(reports, found)
        return reports

    def _measure(self, survivors=False):
        """(reports, what a run kept beyond the tolerance or None)."""
        before = self._memory.settle()
        if survivors:
            self._memory.note()
        reports = self._once()
        kept = self._memory.settle().kept_since(before, self._limits.tolerance)
        if kept is not None and survivors:
            kept.survivors = self._memory.survivors()
        return reports, kept

    def _once(self):
        """Runs set-up, call and tear-down of the test alone: fixtures of wider
        scope stay, and are no part of what it keeps."""
        return runner.runtestprotocol(self._item, log=False, nextitem=_sibling(self._item))


def _passed(reports):
    return all(r.passed for r in reports)


def _fail(reports, found):
    """Makes the call's report a failure that tells what the test keeps."""
    lines = ["gpumem: the test keeps memory, %d runs in a row" % len(found)]
    for number, kept in enumerate(found, 1):
        lines.append("  run %d: %s" % (number, kept))
    lines.extend("  kept: %s" % s for s in found[-1].survivors[:SURVIVORS])
    for report in reports:
        if report.when == "call":
            report.outcome = "failed"
            report.longrepr = "\n".join(lines)


def _sibling(item):
    """Something that comes next in the same class, module and package, so that
    the tear-down before it ends exactly this test's own fixtures."""
    chain = item.listchain()[:-1]
    return types.SimpleNamespace(listchain=lambda: chain + [object()])


def _tear_down_rest(item, nextitem):
    """Tears down what the real next test does not need. Not by the hook: its
    other implementations have had their turn for this test."""
    state = item.session._setupstate
    call = runner.CallInfo.from_call(lambda: state.teardown_exact(nextitem), when="teardown")
    if call.excinfo is not None:
        report = item.ihook.pytest_runtest_makereport(item=item, call=call)
        item.ihook.pytest_runtest_logreport(report=report)


class Memory:
    """What lives in this process, read at quiet moments."""

    def __init__(self):
        from gpumem_agent import hostheap, imports, frameworks

        self._heap = hostheap.open_heap()
        self._imports, self._make = imports, frameworks.make
        self._frameworks = {}
        self._register = None

    @property
    def frameworks(self):
        """Frameworks that the tests have imported by now."""
        for name, file in self._imports.FRAMEWORKS.items():
            module = self._imports.loaded(name)
            if module is not None and name not in self._frameworks:
                made = self._make(file, module, _Unarmed)
                if file == "cupy":
                    made.arm()
                self._frameworks[name] = made
        return list(self._frameworks.values())

    def settle(self):
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

    def _reading(self):
        import gc

        gc.collect()
        active = [f for f in self.frameworks if f.active()]
        for framework in active:
            framework.sync()
            framework.purge()
        if not active:
            return Reading("host heap", self._heap.bytes() if self._heap else None, None)
        row = {}
        for framework in active:
            framework.sample(row)
        return Reading("device", row.get("pool_live_bytes"), row.get("live_count"))

    def note(self):
        """Notes what lives, for survivors."""
        from gpumem_agent.holders.register import Register

        self._register = Register.of(self.frameworks)

    def survivors(self):
        """Lines that name what was made since note and still lives."""
        from gpumem_agent.holders import ending

        view = types.SimpleNamespace(
            frameworks=self.frameworks, survivors=self._register, exiting=True
        )
        found = ending.find(view, time.monotonic() + 2.0)
        return [
            "%s (%d, %s)" % (holder["path"], holder["count"], human(holder["bytes"]))
            for holder in found
        ]


class _Unarmed:
    """Stands for the traced process where frameworks only tell figures."""

    sites_wanted = False


class Reading:
    """Live bytes and arrays at one moment; None is unknown."""

    def __init__(self, place, live, count):
        self.place = place
        self.live = live
        self.count = count

    def __eq__(self, other):
        return (self.place, self.live, self.count) == (other.place, other.live, other.count)

    def kept_since(self, before, tolerance):
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
    def __init__(self, place, live, count):
        self.place = place
        self.live = live
        self.count = count
        self.survivors = []

    def __str__(self):
        text = "%s of %s more" % (human(self.live), self.place)
        return text if self.count is None else "%s, %+d arrays" % (text, self.count)


def human(size_):
    """Bytes for people, in IEC units."""
    value = float(size_)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024 or unit == "GiB":
            return "%d B" % value if unit == "B" else "%.1f %s" % (value, unit)
        value /= 1024
    return ""
