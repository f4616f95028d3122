"""pytest plugin: a leak check around every test.

    pytest --gpumem tests/             or: gpumem pytest -- tests/

With the option every test is checked, without it those that ask for the fixture
gpumem_check. Before and after each test the plugin collects garbage, gives idle
memory back, waits for the device, and compares what lives: bytes and arrays of the
device where the program has one, else the host heap. A test that keeps more than
its tolerance is run again; it fails when every repetition keeps more once more, so
that first-time work (contexts, caches, imports) accuses nobody.

    @pytest.mark.gpumem(warmup=2, tolerance="64KiB", confirm=1)
    @pytest.mark.gpumem(skip=True)

The fixture gpumem_ttnn asks an allocation server (gpumem serve) what a test of ttnn
leaves on its device, and runs the test several times: buffers that are more after
each run are a leak.
"""

from __future__ import annotations

import types
import warnings

import pytest
from _pytest import runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from gpumem._memory import Kept
    from gpumem._ttnn import Remaining

CHECK, TTNN = "gpumem_check", "gpumem_ttnn"
RUNS, WAIT = 3, 1.0  # of a test with gpumem_ttnn; seconds for frees on their way


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("gpumem", "memory a test keeps")
    group.addoption("--gpumem", action="store_true", help="check what every test keeps")
    group.addoption("--gpumem-tolerance", default="1MiB", help="bytes a test may keep")
    group.addoption("--gpumem-warmup", type=int, default=0, help="runs before the check")
    group.addoption("--gpumem-confirm", type=int, default=1, help="repetitions of a suspect")
    group.addoption("--gpumem-socket", help="of the allocation server, for gpumem_ttnn")
    group.addoption("--gpumem-wait", type=float, default=WAIT, help="seconds that frees may take")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line(
        "markers",
        "gpumem(warmup=N, tolerance=SIZE, confirm=N, skip=False): the leak check of one test",
    )


@pytest.fixture
def gpumem_check() -> None:
    """Checks what this test keeps, without --gpumem as well."""


@pytest.fixture
def gpumem_ttnn(request: Any) -> Iterator[None]:
    """Reads what this test leaves on its Tenstorrent device, before the device is
    closed. It works with the fixtures device, mesh_device and their like."""
    from gpumem import _ttnn

    names = [name for name in _ttnn.FIXTURES if name in request.fixturenames]
    devices = [request.getfixturevalue(name) for name in names]
    socket = request.config.getoption("--gpumem-socket") or _ttnn.SOCKET
    left = _left(request.node)
    try:
        books = _ttnn.Books(devices, socket, request.config.getoption("--gpumem-wait"))
        if left.before is None:
            left.before = books.settle()
    except _ttnn.Unavailable as why:
        pytest.fail("gpumem_ttnn: %s" % why, pytrace=False)
    yield
    try:
        left.after.append(books.settle())
    except _ttnn.Unavailable as why:
        warnings.warn("Could not request buffer dump: %s" % why, RuntimeWarning, stacklevel=1)


class _Left:
    """What the runs of a test left on its device."""

    def __init__(self) -> None:
        self.before: Remaining | None = None
        self.after: list[Remaining] = []


def _left(item: Any) -> _Left:
    found: _Left | None = getattr(item, "_gpumem_left", None)
    if found is None:
        found = item._gpumem_left = _Left()
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> bool | None:
    fixtures = getattr(item, "fixturenames", ())
    if not (item.config.getoption("--gpumem") or CHECK in fixtures or TTNN in fixtures):
        return None
    limits = Limits.of(item)
    if limits.skip:
        return None
    check = _Runs(item, limits) if TTNN in fixtures else _Check(item, limits)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in check.run():
        item.ihook.pytest_runtest_logreport(report=report)
    _tear_down_rest(item, nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class Limits:
    """What a test may keep, from its marks and the options."""

    tolerance: int
    warmup: int
    confirm: int
    skip: bool

    @classmethod
    def of(cls, item: Any) -> Limits:
        from gpumem._memory import size

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
        try:
            limits.tolerance = size(limits.tolerance)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
        return limits


class _Check:
    """One test: warm-up runs, the measured run, and repetitions in doubt."""

    def __init__(self, item: Any, limits: Limits) -> None:
        from gpumem._memory import Memory

        self._item = item
        self._limits = limits
        self._memory = Memory()

    def run(self) -> list[Any]:
        """The reports to log: of a failing warm-up, else of the measured run,
        whose call fails when the test leaks."""
        for _ in range(self._limits.warmup):
            reports = _once(self._item)
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
        _fail(reports, _kept_lines(found))
        return reports

    def _measure(self, survivors: bool = False) -> tuple[list[Any], Kept | None]:
        """The reports of a run, and what it kept beyond the tolerance."""
        before = self._memory.settle()
        if survivors:
            self._memory.note()
        reports = _once(self._item)
        kept = self._memory.settle().kept_since(before, self._limits.tolerance)
        if kept is not None and survivors:
            kept.survivors = self._memory.survivors()
        return reports, kept


class _Runs:
    """One test of ttnn: several runs, of which each may leave what the first left."""

    def __init__(self, item: Any, limits: Limits) -> None:
        self._item = item
        self._runs = max(RUNS, limits.confirm + 1)

    def run(self) -> list[Any]:
        """The reports of the first run that fails, else of the last one."""
        from gpumem._ttnn import growth

        reports: list[Any] = []
        for _ in range(self._runs):
            reports = _once(self._item)
            if not _passed(reports):
                return reports
        left = _left(self._item)
        if left.before is not None and len(left.after) == self._runs:
            grows = growth(left.before, left.after)
            if grows:
                _fail(reports, ["gpumem: " + grows])
        return reports


def _once(item: Any) -> list[Any]:
    """Runs set-up, call and tear-down of the test alone: fixtures of wider
    scope stay, and are no part of what it keeps."""
    return runner.runtestprotocol(item, log=False, nextitem=_sibling(item))


def _passed(reports: list[Any]) -> bool:
    return all(r.passed for r in reports)


def _kept_lines(found: list[Kept]) -> list[str]:
    from gpumem._memory import SURVIVORS

    lines = ["gpumem: the test keeps memory, %d runs in a row" % len(found)]
    for number, kept in enumerate(found, 1):
        lines.append("  run %d: %s" % (number, kept))
    lines.extend("  kept: %s" % s for s in found[-1].survivors[:SURVIVORS])
    return lines


def _fail(reports: list[Any], lines: list[str]) -> None:
    """Makes the call's report a failure that tells what the test keeps."""
    for report in reports:
        if report.when == "call":
            report.outcome = "failed"
            report.longrepr = "\n".join(lines)


def _sibling(item: Any) -> Any:
    """Something that comes next in the same class, module and package, so that
    the tear-down before it ends exactly this test's own fixtures."""
    chain = item.listchain()[:-1]
    return types.SimpleNamespace(listchain=lambda: chain + [object()])


def _tear_down_rest(item: Any, nextitem: Any) -> None:
    """Tears down what the real next test does not need. Not by the hook: its
    other implementations have had their turn for this test."""
    state = item.session._setupstate
    call: Any = runner.CallInfo.from_call(lambda: state.teardown_exact(nextitem), when="teardown")
    if call.excinfo is not None:
        report = item.ihook.pytest_runtest_makereport(item=item, call=call)
        item.ihook.pytest_runtest_logreport(report=report)
