"""with gpumem.watch() as w: …: a recording of this process by itself, and its
verdict.

A thread takes samples into a run folder, and the program gpumem judges that when
the verdict is first asked for. The figures come from the agent that `gpumem run`
started, where there is one; its connection stays the only one. What only somebody
outside can tell, what the driver charges the process for one, is not in them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import weakref

import gpumem
from gpumem import _binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERVAL = 0.05  # seconds between samples, as gpumem run takes them
STEP_SECONDS = 0.01  # between samples that steps bring along
HEAP_SECONDS = 0.5  # between readings of the heap, which take its locks
JUDGE_SECONDS = 120.0  # for the verdict of a recording
COLUMNS = (  # of samples.csv, and the lines of /proc/self/status behind some of them
    ("rss_bytes", "VmRSS"),
    ("rss_anon_bytes", "RssAnon"),
    ("rss_file_bytes", "RssFile"),
    ("rss_shmem_bytes", "RssShmem"),
    ("swap_bytes", "VmSwap"),
    ("footprint_bytes", None),
    ("host_heap_bytes", None),
    ("gpu_bytes", None),
    ("pool_live_bytes", None),
    ("pool_idle_bytes", None),
    ("live_count", None),
    ("idle_count", None),
)


def watch(
    name: str = "watch", *, interval: float = INTERVAL, out: str | os.PathLike[str] | None = None
) -> Watch:
    """A context that records this process while it lasts. With out the run folder
    is written there and kept; it must not exist, or be empty. The interval is in
    seconds."""
    return Watch(name, interval, out)


class Watch:
    """A recording of this process. Verdict, answer and report wait for the end of
    the with block; they never raise for want of evidence: such a recording is
    undecided, and the answer says why."""

    def __init__(
        self, name: str, interval: float, out: str | os.PathLike[str] | None = None
    ) -> None:
        if not 0.001 <= interval <= 3600:
            raise ValueError("interval %r: must be from 0.001 to 3600 seconds" % interval)
        self.name = str(name)
        self._interval = interval
        self._out = out
        self._recording: _Recording | None = None
        self._report: dict[str, Any] | None = None

    def __enter__(self) -> Watch:
        if self._recording is not None:
            raise RuntimeError("a watch records once: call gpumem.watch() again")
        self._recording = _Recording(self, self.name, self._interval, self._out)
        self._recording.begin()
        gpumem._watches += (self,)
        gpumem._mark(gpumem._agent(), "scope", "begin " + self.name, sys._getframe(1))
        return self

    def __exit__(self, *_: object) -> None:
        if self._recording is not None and self._recording.is_copy:
            return  # the recording is the parent's, which goes on
        gpumem._mark(gpumem._agent(), "scope", "end " + self.name, sys._getframe(1))
        gpumem._watches = tuple(w for w in gpumem._watches if w is not self)
        assert self._recording is not None
        self._recording.end()

    @property
    def folder(self) -> str:
        """The run folder. Without out it goes with this object."""
        return self._ended().folder

    @property
    def report(self) -> dict[str, Any]:
        """What verdict.json says: its keys are described in the documentation."""
        if self._report is None:
            try:
                self._report = json.loads(self._judge("json"))
            except (_Unjudged, ValueError) as why:
                self._report = {"verdict": "undecided", "answer": "undecided: %s" % why}
        return self._report

    @property
    def verdict(self) -> str:
        """none, app-leak, pool-growth, driver-growth, host-growth or undecided."""
        return str(self.report["verdict"])

    @property
    def tier(self) -> str | None:
        """confirmed, likely or suspected; None where it is neither."""
        tier = self.report.get("tier")
        return None if tier is None else str(tier)

    @property
    def answer(self) -> str:
        """The sentence that a person can paste: whose, how much, cause, holder."""
        report = self.report
        return str(report.get("answer") or report.get("summary") or report["verdict"])

    def html(self) -> str:
        """The report as one HTML page. Raises RuntimeError where it cannot be had."""
        return self._judge("html").decode("utf-8")

    def text(self) -> str:
        """The report as `gpumem report` prints it. Raises RuntimeError likewise."""
        return self._judge("text").decode("utf-8")

    def _repr_html_(self) -> str | None:
        """What a notebook shows of it."""
        from gpumem import _notebook

        try:
            return _notebook.framed(self.html())
        except RuntimeError:
            return None

    def __repr__(self) -> str:
        recording = self._recording
        if recording is None or recording.is_under_way:
            return "<gpumem.watch %r, not ended>" % self.name
        return "<gpumem.watch %r: %s>" % (self.name, self.answer)

    def _ended(self) -> _Recording:
        recording = self._recording
        if recording is None or recording.is_under_way:
            raise RuntimeError("the watch is not over: ask after its with block")
        return recording

    def _judge(self, format_: str) -> bytes:
        command = ["report", self._ended().folder, "--format", format_]
        try:
            command.insert(0, _binary.find())
            done = subprocess.run(command, capture_output=True, timeout=JUDGE_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _Unjudged(str(error)) from None
        if done.returncode != 0:
            raise _Unjudged(done.stderr.decode("utf-8", "replace").strip().replace("gpumem: ", "", 1))
        return done.stdout

    def _step(self, number: int | None) -> None:
        if self._recording is not None:
            self._recording.step(number)

    def _note(self, kind: str, name: str, at: str) -> None:
        if self._recording is not None:
            self._recording.note(kind, name, at)


def _remove(folder: str, owner: int) -> None:
    """Removes a run folder that nobody wanted kept; a forked child does not."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _forget() -> None:
    """A forked child records nothing: the files are its parent's, and a lock may be
    held by a thread that the child does not have."""
    gpumem._watches = ()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class _Unjudged(RuntimeError):
    """Why there is no report."""


class _Recording:
    """The run folder and the thread that fills it."""

    def __init__(self, owner: Watch, name: str, interval: float, out: Any) -> None:
        self._interval = interval
        self._figures = _Figures()
        self._lock = threading.Lock()  # of the files and the counts below
        self._over = threading.Event()
        self._pid = os.getpid()
        self._steps = 0
        self._step_at = 0.0
        self._begun = time.monotonic()
        if out is None:
            self.folder = tempfile.mkdtemp(prefix="gpumem-%s-" % "".join(filter(str.isalnum, name)))
            weakref.finalize(owner, _remove, self.folder, self._pid)
        else:
            self.folder = os.path.abspath(os.fspath(out))
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            if os.listdir(self.folder):
                raise FileExistsError("%s is not empty: name a new folder" % self.folder)
        self._thread = threading.Thread(target=self._run, name="gpumem.watch", daemon=True)

    @property
    def is_under_way(self) -> bool:
        return not self._over.is_set()

    @property
    def is_copy(self) -> bool:
        """Whether this is a forked child, whose parent records."""
        return os.getpid() != self._pid

    def begin(self) -> None:
        self._write_meta(None)
        self._samples = self._open("samples.csv")
        self._events = self._open("events.jsonl")
        self._samples.write("t_ms,step," + ",".join(column for column, _ in COLUMNS) + "\n")
        self._figures.note()
        self._begun = time.monotonic()
        self._sample()
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self._sample()
        with self._lock:
            self._event({"kind": "holders", "holders": self._figures.holders()})
            self._samples.close()
            self._events.close()
        self._write_meta(time.time())

    def step(self, number: int | None) -> None:
        """A step of the program's, which brings a sample along now and then."""
        with self._lock:
            self._steps = self._steps + 1 if number is None else int(number)
            now = time.monotonic()
            is_due = now - self._step_at >= STEP_SECONDS
            if is_due:
                self._step_at = now
        if is_due:
            self._sample()

    def note(self, kind: str, name: str, at: str) -> None:
        event = {"kind": kind, "name": name}
        if at:
            event["at"] = at
        with self._lock:
            if self.is_under_way:
                self._event(event)

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            self._sample()

    def _sample(self) -> None:
        with self._lock:
            if self._samples.closed:
                return
            row = self._figures.row()
            cells = [row.get(column) for column, _ in COLUMNS]
            self._samples.write(
                "%.3f,%s,%s\n"
                % (
                    self._now(),
                    self._steps or "",
                    ",".join("" if cell is None else str(cell) for cell in cells),
                )
            )

    def _event(self, event: dict[str, Any]) -> None:
        event["t_ms"] = round(self._now(), 3)
        self._events.write(json.dumps(event) + "\n")

    def _now(self) -> float:
        """Milliseconds since the beginning."""
        return (time.monotonic() - self._begun) * 1000

    def _open(self, name: str) -> Any:
        file = os.open(os.path.join(self.folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        return open(file, "w", encoding="utf-8", newline="\n")

    def _write_meta(self, ended: float | None) -> None:
        """Writes run.json: once at the beginning, so that a recording that is cut off
        can be read, and once more at the end."""
        import platform

        meta = {
            "schema": 1,
            "command": [sys.executable or "python"] + [str(a) for a in sys.argv],
            "os": "%s/%s %s" % (platform.system().lower(), platform.machine(), platform.release()),
            "versions": {"python": platform.python_version()},
            "start": _utc(time.time() if ended is None else ended - self._now() / 1000),
            "interval_ms": max(1, round(self._interval * 1000)),
        }
        if ended is not None:
            meta["end"] = _utc(ended)
        path = os.path.join(self.folder, "run.json")
        file = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(file, "w", encoding="utf-8") as f:
            json.dump(meta, f, indent=2)
        os.replace(path + ".new", path)


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class _Figures:
    """The columns as they are now: the agent's, else our own; and the system's."""

    def __init__(self) -> None:
        from gpumem._memory import Memory

        self._memory = Memory()
        self._heap: int | None = None
        self._heap_at = 0.0

    def note(self) -> None:
        """Notes what lives, so that holders can tell what came later."""
        self._memory.note()

    def row(self) -> dict[str, int]:
        row: dict[str, int] = {}
        agent = gpumem._agent()
        frameworks = self._memory.frameworks if agent is None else agent.frameworks
        for framework in frameworks:
            try:
                if framework.active():
                    framework.sample(row)
            except Exception:  # a framework that is being imported or taken down
                continue
        now = time.monotonic()
        if self._heap is None or now - self._heap_at >= HEAP_SECONDS:
            self._heap, self._heap_at = self._memory.heap_bytes(), now
            if self._heap is not None:
                row["host_heap_bytes"] = self._heap
        row.update(_resident())
        return row

    def holders(self) -> list[dict[str, Any]]:
        """Who holds what came since note, most bytes first."""
        try:
            return self._memory.holders()
        except Exception:  # the search walks through foreign objects
            return []


def _resident() -> dict[str, int]:
    """What Linux tells of this process; nothing elsewhere."""
    try:
        with open("/proc/self/status", "rb") as f:
            text = f.read()
    except OSError:
        return {}
    told = {}
    for line in text.splitlines():
        key, _, value = line.partition(b":")
        if value.endswith(b" kB"):
            told[key.decode("ascii", "replace")] = int(value[:-3]) << 10
    row = {column: told[key] for column, key in COLUMNS if key in told}
    parts = [row.get(name) for name in ("rss_anon_bytes", "rss_shmem_bytes", "swap_bytes")]
    if None not in parts:
        row["footprint_bytes"] = sum(p for p in parts if p is not None)
    return row
