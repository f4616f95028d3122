"""The agent of one process: its life from start through forks to exit."""

import os
import sys
import time
import _thread

from gpumem_agent import imports, requests
from gpumem_agent.connection import Closed, Connection, Row
from gpumem_agent.quiet import Quiet
from gpumem_agent.sampling import (
    HEAP_SECONDS,
    HEAP_SHARE,
    STEP_SECONDS,
    STEP_SHARE,
    Budget,
    Sampler,
)
from gpumem_agent.steps import Steps
from gpumem_agent.surveys import Surveys

VERSION = 1  # of the protocol
ACTIONS = ["collect", "purge", "trim", "sync", "sites", "holders"]
REDIAL_SECONDS = 1.0  # between attempts to connect, doubled each time
LISTEN_SECONDS = 0.2  # between looks for requests
CHILD_SECONDS = 0.05  # a forked child that ends sooner never connects
COUNTS_THREADS_LATE = sys.version_info >= (3, 13)  # see later.py


def begin():
    """Makes and starts the agent as the environment asks."""
    process = Process(
        os.environ["GPUMEM_AGENT"],
        min(max(_milliseconds("GPUMEM_INTERVAL_MS", 50), 0.001), 3600.0),
        min(max(_milliseconds("GPUMEM_SETTLE_MS", 0), 0.0), 5.0),
        os.environ.get("GPUMEM_HOLD") == "1",
        os.environ.get("GPUMEM_SITES") == "1",
    )
    process.begin()
    return process


def _milliseconds(name, default):
    """A number of the environment, in seconds."""
    try:
        return float(os.environ.get(name) or default) / 1000
    except ValueError:
        return default / 1000


class Process:
    """What the agent knows of its process. Methods named by a verb of the
    program's (step, mark, …) may be called from any thread."""

    def __init__(self, path, interval, settle, hold, sites):
        self.interval = interval
        self.settle = settle  # seconds that the driver's books may be late
        self.hold = hold
        self.sites_wanted = sites
        self.frameworks = []
        self.path = path
        self._armed = set()
        self._later = None
        self._reset()

    def _reset(self):
        """The state that a forked child starts with."""
        self.pid = os.getpid()
        self.steps = Steps()
        self.errors = 0
        self.first_error = ""
        self.surveys = Surveys()
        self.exiting = False
        self.connection = Connection(self.path)
        self.sampler = None
        self._heap = None
        self._heap_tried = False
        self._heap_cost = 0.0  # of the last reading
        self._heap_budget = Budget(HEAP_SHARE, HEAP_SECONDS)
        self._step_budget = Budget(STEP_SHARE, STEP_SECONDS, credit=0.02)
        self._begun = time.monotonic()
        self._sampled_at = self._step_sampled_at = 0.0
        self._active_since = None
        self._introduced = set()
        self._redial_at = 0.0
        self._listen_at = 0.0
        self._redial_wait = REDIAL_SECONDS
        self._step_lock = _thread.allocate_lock()
        self._is_asleep = False  # the sampler was stopped for a fork

    # Life cycle.

    def begin(self):
        import atexit

        imports.Watch(self.noticed).install()
        self.dial()
        if sys.version_info < (3, 9):
            # Threads end by pthread_exit there, for which glibc loads a library
            # the first time; once the program has changed its root, it aborts.
            _thread.start_new_thread(int, ())
        self._start_sampler(self.interval)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before_fork,
                after_in_parent=self._after_fork_in_parent,
                after_in_child=self._after_fork_in_child,
            )
        atexit.register(self.end)

    def _start_sampler(self, first):
        idle = max(self.interval, LISTEN_SECONDS)
        self.sampler = Sampler(self._tick, self.interval, idle, first)
        self.sampler.start()

    def _before_fork(self):
        with self.quiet():
            if COUNTS_THREADS_LATE and self._later is None:
                from gpumem_agent.later import Later

                self._later = Later(self._revive)
        with self.quiet():
            self.sampler.park()

    def _after_fork_in_parent(self):
        with self.quiet():
            if self.sampler.resume() or self.exiting:
                return
            self._is_asleep = True
            if self._later is not None:
                self._later.call(sys._getframe(1))
            else:
                self._revive()

    def _revive(self):
        """Starts sampling again after a fork."""
        with self.quiet():
            if self._is_asleep and not self.exiting:
                self._is_asleep = False
                self._start_sampler(self.interval)

    def _after_fork_in_child(self):
        with self.quiet():
            self.connection.close()  # the parent's; our copy of the descriptor
            self._reset()
            for framework in self.frameworks:
                framework.forked()
            self._start_sampler(max(CHILD_SECONDS, self.interval))

    def end(self):
        """Runs at the interpreter's exit, after the program's own handlers."""
        with self.quiet():
            self.exiting = True
            self.sampler.stop()
            if not self.connection.is_open or self.pid != os.getpid():
                return
            self.sample(heap=True)
            self._confess()
            self.mark("phase", "exiting")
            if self.hold:
                requests.hold(self)
        with self.quiet():
            self.connection.close()

    def _confess(self):
        """Says what was lost, if anything was."""
        if self.errors:
            text = "python agent: %d errors, first: %s" % (self.errors, self.first_error)
            self.mark("warning", text)

    def quiet(self):
        """A context that swallows and counts the agent's own errors."""
        return Quiet(self)

    def failed(self, error):
        """Counts an error. The end of the connection is none."""
        if isinstance(error, Closed):
            return
        self.errors += 1
        if not self.first_error:
            self.first_error = "%s: %s" % (type(error).__name__, error)

    # Connection.

    def dial(self):
        """Connects if need be: at first, and again after the program closed
        our descriptor, but never after the tracer ended the connection. Returns
        whether it is connected."""
        if self.connection.is_open:
            return True
        now = time.monotonic()
        if self.connection.ended or now < self._redial_at:
            return False
        self._redial_at = now + self._redial_wait
        self._redial_wait = min(self._redial_wait * 2, 60.0)
        dropped = self.connection.dropped
        self.connection = Connection(self.path)
        self.connection.dropped = dropped
        if not self.connection.open():
            return False
        self._introduced = set()
        self._hello("python", {})
        return True

    def _hello(self, name, facts):
        hello = {"v": VERSION, "pid": os.getpid(), "agent": name}
        rank = os.environ.get("RANK", "")
        if rank.isdigit():
            hello["rank"] = int(rank)
        versions = {"python": "%d.%d.%d" % sys.version_info[:3]}
        versions.update(facts.pop("versions", {}))
        hello.update(facts)
        hello["versions"] = versions
        hello["actions"] = ACTIONS
        self.connection.send({"hello": hello}, patience=0.05)

    def _introduce(self):
        """Says hello again for each framework whose device came to life."""
        for framework in self.frameworks:
            if framework.name in self._introduced or not framework.active():
                continue
            self._introduced.add(framework.name)
            if self._active_since is None:
                self._active_since = time.monotonic()
                self.surveys.restart()
            self._hello(framework.name, framework.facts())

    # Frameworks.

    def noticed(self, name):
        """A framework's module has run. Called on the importing thread."""
        with self.quiet():
            self._arm(name)

    def _arm(self, name):
        module = sys.modules.get(name)
        if module is None or name in self._armed:
            return
        self._armed.add(name)
        from gpumem_agent import frameworks

        framework = frameworks.make(imports.FRAMEWORKS[name], module, self)
        framework.arm()
        self.frameworks.append(framework)
        # Run before the exit handlers that the framework just registered:
        # after them its arrays may be gone.
        import atexit

        atexit.unregister(self.end)
        atexit.register(self.end)

    def _look_for_frameworks(self):
        """Catches modules that came in past the finder."""
        for name in imports.FRAMEWORKS:
            if name not in self._armed and imports.loaded(name):
                self._arm(name)

    # What the program does.

    def step(self, number=None):
        """The user's step."""
        with self.quiet():
            self.steps.user(number)
            self._at_step()

    def optimizer_step(self, optimizer):
        """A step that a framework's hook saw. Written for speed."""
        try:
            counted = self.steps.optimizer(id(optimizer))
            if counted and time.monotonic() >= self._step_budget.next:
                self._at_step()
        except Exception as err:
            if not self.quiet().__exit__(type(err), err, err.__traceback__):
                raise

    def _at_step(self):
        """Marks the step, and samples beside it, while that is cheap."""
        now = time.monotonic()
        if not self._step_budget.ready(now) or not self.connection.is_open:
            return
        if self._step_lock.locked():
            return
        with self._step_lock:  # see Connection.send
            begun = time.perf_counter()
            mark = {"t_ns": _now(), "kind": "step", "step": self.steps.count}
            messages = [{"mark": mark}] + self._samples()
            self._step_sampled_at = now
            self.connection.send(*messages, wait=False)
            self._step_budget.spent(now, time.perf_counter() - begun)
            # Never on the sampling thread: a list of all objects holds on to what
            # the program is about to finish or to drop. A tuple under
            # construction then cannot be resized (SystemError), and a CUDA graph
            # dies in the middle of another one's capture; both were seen.
            if self.hold and self.surveys.due(self.steps.count):
                self.surveys.take(self)
            if self.sites_wanted and self.surveys.wants_sites:
                self.surveys.note_sites(self)

    def mark(self, kind, name, at="", detail=None):
        """A line in events.jsonl."""
        with self.quiet():
            mark = {"t_ns": _now(), "kind": kind, "name": name}
            if at:
                mark["at"] = at
            if self.steps.known:
                mark["step"] = self.steps.count
            if detail:
                mark["detail"] = detail
            if self.connection.is_open:
                self.connection.send({"mark": mark}, patience=0.05)

    def phase(self, name):
        """A phase of the program. At baseline, what lives is noted.

        Baseline and released are compared: what the driver tells late must
        have been told by then."""
        if name in ("baseline", "released") and self._introduced:
            time.sleep(self.settle)
        with self.quiet():
            if self.connection.is_open:
                self.sample(heap=True)
            self.mark("phase", name)
            if name == "baseline":
                self.surveys.take(self)

    # Sampling.

    def _tick(self, now):
        """One round of the sampling thread. Returns the regular part's cost.

        Steps bring samples along, on a thread that has the interpreter's lock
        anyway. While they come often enough, this thread has little to do and
        is told so: each of its turns makes the program wait for the lock."""
        cost = 0.0
        with self.quiet():
            if not self.dial():
                return cost
            self._look_for_frameworks()
            self._introduce()
            heap = self._heap_budget.ready(now)
            if heap or now - self._sampled_at >= self.interval / 2:
                begun, self._heap_cost = time.thread_time(), 0.0
                self.sample(heap)
                cost = time.thread_time() - begun - self._heap_cost
            if now >= self._listen_at:
                self._listen_at = now + LISTEN_SECONDS
                requests.answer(self, self.connection.receive())
        if self._step_sampled_at >= now - self.interval:
            return None
        return cost

    def sample(self, heap=False):
        """Tells the present figures."""
        for message in self._samples(heap):
            self.connection.send(message)

    def _samples(self, heap=False):
        """The present figures as a list of one message, or none."""
        row = Row()
        self._sampled_at = time.monotonic()
        for framework in self.frameworks:
            with self.quiet():
                if framework.active():
                    framework.sample(row)
        if heap:
            self._add_heap(row)
        if self.steps.known:
            row["step"] = self.steps.count
        if not row:
            return []
        if self.connection.dropped:
            row["dropped"] = self.connection.dropped
        row["t_ns"] = _now()
        return [{"sample": row}]

    def heap(self):
        """The host heap's reader, or None."""
        if not self._heap_tried:
            self._heap_tried = True
            from gpumem_agent import hostheap

            self._heap = hostheap.open_heap()
        return self._heap

    def _add_heap(self, row):
        """Adds the host heap. Its reader imports ctypes, so it waits until the
        first second is over: a short script shall not pay for it."""
        young = time.monotonic() - self._begun < 1.0
        if young and "ctypes" not in sys.modules and not (self.exiting and self.hold):
            return
        begun = time.thread_time()
        heap = self.heap()
        used = heap.bytes() if heap is not None else None
        if used is not None:
            row["host_heap_bytes"] = used
        self._heap_cost = time.thread_time() - begun
        self._heap_budget.spent(time.monotonic(), self._heap_cost)

    # Experiments.

    @property
    def survivors(self):
        """What was alive earlier, to compare with: a Register, or None."""
        return self.surveys.reference


def _now():
    """CLOCK_MONOTONIC, in nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
