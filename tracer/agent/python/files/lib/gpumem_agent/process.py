"""The agent of one process: its life from start through forks to exit."""

import os
import sys
import time
import _thread

from gpumem_agent import imports
from gpumem_agent.connection import Closed, Connection
from gpumem_agent.sampling import (
    HEAP_SECONDS,
    HEAP_SHARE,
    STEP_SECONDS,
    STEP_SHARE,
    Budget,
    Sampler,
)
from gpumem_agent.steps import Steps

VERSION = 1  # of the protocol
ACTIONS = ["collect", "purge", "trim", "sync", "sites", "holders"]
HOLD_SECONDS = 60.0  # an exiting program waits no longer for the next request
DONE_PATIENCE = 2.0  # answers are worth waiting for
REDIAL_SECONDS = 1.0  # between attempts to connect, doubled each time
CHILD_SECONDS = 0.05  # a forked child that ends sooner never connects
SURVEY_STEPS = 5  # when what lives now is taken for the program's furniture
SURVEY_SECONDS = 2.0
SURVEY_HOST_SECONDS = 4.0  # likewise, while no device is alive
COUNTS_THREADS_LATE = sys.version_info >= (3, 13)  # see later.py


def begin():
    """Makes and starts the agent as the environment asks."""
    try:
        interval = float(os.environ.get("GPUMEM_INTERVAL_MS") or 50) / 1000
    except ValueError:
        interval = 0.05
    process = Process(
        os.environ["GPUMEM_AGENT"],
        min(max(interval, 0.001), 3600.0),
        os.environ.get("GPUMEM_HOLD") == "1",
        os.environ.get("GPUMEM_SITES") == "1",
    )
    process.begin()
    return process


class Process:
    """What the agent knows of its process. Methods named by a verb of the
    program's (step, mark, …) may be called from any thread."""

    def __init__(self, path, interval, hold, sites):
        self.interval = interval
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
        self.survivors = None  # survivors.Register, once surveyed
        self.exiting = False
        self.connection = Connection(self.path)
        self.sampler = None
        self._heap = None
        self._heap_tried = False
        self._heap_budget = Budget(HEAP_SHARE, HEAP_SECONDS)
        self._step_budget = Budget(STEP_SHARE, STEP_SECONDS, credit=0.02)
        self._begun = time.monotonic()
        self._active_since = None
        self._introduced = set()
        self._redial_at = 0.0
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
        self.sampler = Sampler(self._tick, self.interval, first)
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
            self._sample(heap=True)
            self._confess()
            self.mark("phase", "exiting")
            if self.hold:
                self._serve_hold()
        with self.quiet():
            self.connection.close()

    def _confess(self):
        """Says what was lost, if anything was."""
        if self.errors:
            text = "python agent: %d errors, first: %s" % (self.errors, self.first_error)
            self.mark("warning", text)

    def _serve_hold(self):
        """Answers the tracer's experiments until it says continue."""
        deadline = time.monotonic() + HOLD_SECONDS
        try:
            while time.monotonic() < deadline:
                requests = self.connection.receive(0.1)
                if self._answer(requests):
                    return
                if requests:
                    deadline = time.monotonic() + HOLD_SECONDS
        except (Closed, KeyboardInterrupt):
            pass  # the tracer is gone, or the user wants out: so be it

    def quiet(self):
        """A context that swallows and counts the agent's own errors."""
        return _Quiet(self)

    def failed(self, error):
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
                self.survivors = None  # of the host's time, if any
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
        """A step that a framework's hook saw."""
        with self.quiet():
            if self.steps.optimizer(id(optimizer)):
                self._at_step()

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
            self.connection.send({"mark": mark}, wait=False)
            self._sample(wait=False)
            self._step_budget.spent(now, time.perf_counter() - begun)

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
        """A phase of the program. At baseline, what lives is noted."""
        with self.quiet():
            if self.connection.is_open:
                self._sample(heap=True)
            self.mark("phase", name)
            if name == "baseline":
                self.survey()

    # Sampling.

    def _tick(self, now):
        """One round of the sampling thread."""
        with self.quiet():
            if not self.dial():
                return
            self._look_for_frameworks()
            self._introduce()
            self._sample(heap=self._heap_budget.ready(now))
            self._answer(self.connection.receive())
            if self._survey_due(now):
                self.survey()

    def _sample(self, heap=False, wait=True):
        row = {}
        for framework in self.frameworks:
            try:
                if framework.active():
                    framework.sample(row)
            except Exception as err:
                self.failed(err)
        if heap:
            self._add_heap(row)
        if self.steps.known:
            row["step"] = self.steps.count
        if not row:
            return
        if self.connection.dropped:
            row["dropped"] = self.connection.dropped
        sample = {"t_ns": _now()}
        sample.update(row)
        self.connection.send({"sample": sample}, wait=wait)

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
        heap = self.heap()
        if heap is None:
            return
        begun = time.perf_counter()
        used = heap.bytes()
        if used is not None:
            row["host_heap_bytes"] = used
        self._heap_budget.spent(time.monotonic(), time.perf_counter() - begun)

    # Experiments.

    def _survey_due(self, now):
        if not self.hold or self.survivors is not None:
            return False
        if self._active_since is None:
            return now - self._begun >= SURVEY_HOST_SECONDS
        late = now - self._active_since >= SURVEY_SECONDS
        return late or self.steps.count >= SURVEY_STEPS

    def survey(self):
        """Notes the arrays that live now; later ones are made late."""
        from gpumem_agent import survivors

        self.survivors = survivors.Register(self.frameworks)
        if self.sites_wanted:
            self.survivors.note_sites()

    def _answer(self, messages):
        """Does what the tracer asks. Returns whether it said continue."""
        for message in messages:
            do = message.get("do")
            if not isinstance(do, dict):
                continue
            if do.get("action") == "continue":
                return True
            self._act(do)
        return False

    def _act(self, do):
        from gpumem_agent import actions

        done = {"id": do.get("id", 0)}
        try:
            done.update(actions.perform(self, do.get("action")))
        except Exception as err:
            self.failed(err)
            done["error"] = "%s: %s" % (type(err).__name__, err)
        self._sample(heap=True)
        self.connection.send({"done": done}, patience=DONE_PATIENCE)


class _Quiet:
    """Swallows what the agent raises; lets pass what is the program's."""

    def __init__(self, process):
        self._process = process

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            return False
        if not issubclass(kind, Exception) or _by_signal(trace):
            return False
        if not issubclass(kind, Closed):
            self._process.failed(error)
        return True


def _by_signal(trace):
    """Whether an exception came out of a signal handler of the program, which
    the interpreter happened to run while the agent's code was running."""
    if trace is None:
        return False
    import _signal

    handlers = map(_signal.getsignal, _signal.valid_signals())
    codes = {getattr(h, "__code__", None) for h in handlers} - {None}
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _now():
    """CLOCK_MONOTONIC, in nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
