"""The agent of one process: its life from start through forks to exit."""

import os
import sys

from gpumem_agent import imports, leaving, requests
from gpumem_agent.arrivals import Arrivals
from gpumem_agent.blocksites import BlockSites
from gpumem_agent.connection import Closed, Connection
from gpumem_agent.errands import Errands
from gpumem_agent.figures import Figures
from gpumem_agent.forks import Forks
from gpumem_agent.generations import Generations
from gpumem_agent.greeting import Greeting
from gpumem_agent.heapsites import HeapSites
from gpumem_agent.looking import Looking
from gpumem_agent.own import own
from gpumem_agent.quiet import Quiet
from gpumem_agent.sampling import Sampler, StepPace
from gpumem_agent.steps import Steps
from gpumem_agent.surveys import Surveys
from gpumem_agent.window import Window

REDIAL_SECONDS = 1.0  # between attempts to connect, doubled each time
LISTEN_SECONDS = 0.4  # between looks for requests, and turns of an idle sampler
LIVES = 16  # samples in which what comes and goes was at its least
CHILD_SECONDS = 0.05  # a forked child that ends sooner never connects


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
        self.steps = Steps()
        self.path = path
        self.arrivals = Arrivals(self)
        self.forks = Forks(self)
        self.is_forked = False
        self.late = None  # late.Late in a program that ran before the agent came
        self.profile = None  # as in GPUMEM_PROFILE, where it is not the environment's word
        self._reset()

    def _reset(self):
        """The state that a forked child starts with."""
        self.pid = own.getpid()
        self.steps.restart()
        self.errors = 0
        self.births = 0  # processes that it was told to have started
        self.first_error = ""
        self.surveys = Surveys()
        self.generations = Generations()
        self.site_windows = HeapSites(), BlockSites()
        self.errands = Errands()
        self.looking = Looking(self)
        self.exiting = False
        self.connection = Connection(self.path)
        self.sampler = None
        self.figures = Figures(self)
        self._step_pace = StepPace(self.interval)
        self._sampled_at = 0.0  # the last sample
        self._live = None  # see held
        self.idle = None  # bytes that the pool kept at the last sample
        self._lives = []  # bytes of arrays at the last samples, while no steps come
        self.greeting = Greeting(self)
        self._redial_at = 0.0
        self._listen_at = 0.0
        self._redial_wait = REDIAL_SECONDS
        self.window = Window(self.profile)
        self._step_lock = own.allocate_lock()
        self._aside = []  # messages that came while another was waited for

    # Life cycle.

    def begin(self):
        import atexit

        watch = imports.Watch(self.arrivals.noticed)
        watch.install()
        self._wrap()
        self.dial()
        if sys.version_info < (3, 9):
            # Threads end by pthread_exit there, for which glibc loads a library
            # the first time; once the program has changed its root, it aborts.
            own.start_new_thread(int, ())
        self.start_sampler(self.interval)
        if self.late is not None:
            self.late.on_leave(watch.remove)
            self.late.on_leave(lambda: atexit.unregister(self.end))
        elif hasattr(os, "register_at_fork"):
            before, in_parent, in_child = self.forks.handlers()
            os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)
        atexit.register(self.end)

    def _wrap(self):
        """Wraps what is refused to processes of several threads: see alone.py."""
        with self.quiet():
            if hasattr(os, "unshare"):
                from gpumem_agent import alone

                self.on_leave(alone.wrap_os(self))
            for name in (imports.CTYPES,) + imports.BIRTHS:
                if imports.loaded(name):
                    self.arrivals.arm(name)

    def on_leave(self, undo):
        """Has undo called when the agent leaves a program that ran before it came."""
        if self.late is not None:
            self.late.on_leave(undo)

    def start_sampler(self, first):
        """Starts the sampling thread, which samples for the first time in so many seconds."""
        idle = max(self.interval, LISTEN_SECONDS)
        self.sampler = Sampler(self._tick, self.interval, idle, first)
        self.sampler.start()

    def become_forked(self):
        """Begins anew as the agent of a forked child."""
        self.close_windows()  # which are the parent's
        self.connection.close()  # the parent's; our copy of the descriptor
        self._reset()
        self.is_forked = True
        for framework in self.frameworks:
            framework.forked()
        self.start_sampler(max(CHILD_SECONDS, self.interval))

    def has_history(self):
        """Whether the program, and not the agent, has an allocator record its history."""
        if self.sites_wanted or self.window.is_open:
            return False
        return any(f.active() and f.has_history() for f in self.frameworks)

    def close_windows(self):
        """Ends those of the interposer's windows that are open."""
        for windows in self.site_windows:
            windows.close()

    def leave(self, number=None):
        """Takes the agent out of a program that ran before it came: see leaving."""
        leaving.leave(self, number)

    def end(self):
        """Runs at the interpreter's exit, after the program's own handlers."""
        leaving.end(self)

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
            if isinstance(error, ImportError) and not os.path.exists(__file__):
                self.first_error = "its files are out of reach (another root?): %s" % error

    # Connection.

    def dial(self):
        """Connects if need be: at first, and again after the program closed
        our descriptor, but never after the tracer ended the connection. Returns
        whether it is connected."""
        if self.connection.is_open:
            return True
        now = own.monotonic()
        if self.connection.ended or now < self._redial_at:
            return False
        self._redial_at = now + self._redial_wait
        self._redial_wait = min(self._redial_wait * 2, 60.0)
        dropped = self.connection.dropped
        self.connection = Connection(self.path)
        self.connection.dropped = dropped
        if not self.connection.open():
            return False
        self.greeting.begin()
        return True

    def has_survivors(self):
        """Whether survivors may be asked for. At the end of a process without
        arrays and without an earlier look to compare with there are none to
        name, and what is not asked for does not hold up its end."""
        if not self.exiting or self.frameworks or "numpy" in sys.modules:
            return True
        return self.survivors is not None

    # What the program does.

    def step(self, number=None):
        """The user's step."""
        with self.quiet():
            self.steps.user(number)
            self._at_step()

    def optimizer_step(self, optimizer, is_counted):
        """A step that a framework's hook saw, and maybe counted already."""
        try:
            if not self.window.is_done:
                self.window.saw(optimizer)
            if is_counted or self.steps.optimizer(id(optimizer)):
                self._at_step()
        except BaseException as error:
            if not self.quiet().swallows(error):
                raise

    def _at_step(self):
        """Samples at a step, while that is cheap. The sample tells the step.

        What runs here at each sample runs cold: a call of a function of ours
        costs more than what most of them do."""
        now = own.monotonic()
        if now < self.steps.due or self._step_lock.locked():
            return
        if not self.connection.is_open:
            self.steps.due = now + self.interval
            return
        with self._step_lock:  # see Connection.send
            begun, figures = own.perf_counter(), self.figures
            self._sampled_at, figures.heap_cost = now, 0.0
            row = figures.row(now >= figures.heap_at)
            if row is not None:
                self._live, self.idle = row.get("pool_live_bytes"), row.get("pool_idle_bytes")
                self.connection.send_sample(row, wait=False)
            cost = own.perf_counter() - begun - figures.heap_cost
            self.steps.due = now + self._step_pace.interval(cost)
            if self.hold and self.surveys.wants(self.steps.count):
                self.looking.survey()
            if not self.window.is_done or self.window.is_open:
                self.window.at_step(self, now)
                if self.window.is_open:
                    self.steps.due = 0.0  # each of its steps comes by here
            self.looking.at_step(now)

    def mark(self, kind, name, at="", detail=None, patience=0.05):
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
                self.connection.send({"mark": mark}, patience=patience)
                if kind == "phase":
                    self.connection.knock()

    def tell_oom(self, detail, patience):
        """Tells that an allocation failed, and waits up to patience seconds for the
        tracer's word that it is written: the program may end with this error."""
        mark = {"t_ns": _now(), "kind": "oom", "name": detail["framework"], "detail": detail}
        if "site" in detail:
            mark["at"] = detail["site"]
        if self.steps.known:
            mark["step"] = self.steps.count
        self.connection.send({"mark": mark}, patience=max(patience, 0.05))
        if patience:
            self.connection.knock()
            self._aside += requests.kept(self.connection, mark["t_ns"], patience)

    def phase(self, name):
        """A phase of the program. At baseline, what lives is noted.

        Baseline and released are compared: what the driver tells late must
        have been told by then."""
        if name in ("baseline", "released") and self.greeting.has_device:
            own.sleep(self.settle)
        with self.quiet():
            if self.connection.is_open:
                self.sample(heap=True)
            self.mark("phase", name)
            if name == "baseline":
                from gpumem_agent.frameworks.sources import sources

                self.surveys.take(self, sources(self.frameworks))

    # Sampling.

    def _tick(self, now):
        """One round of the sampling thread. Returns the regular part's cost, or
        None while the program's steps bring samples along, on a thread that has
        the interpreter's lock anyway: each turn of this one makes the program
        wait for that."""
        cost = None
        with self.quiet():
            if not self.dial():
                if self.late is not None and self.connection.is_lost:
                    self.leave()
                return 0.0
            self.arrivals.look()
            self.steps.look(now)
            self.greeting.renew(now)
            if now >= self.steps.due + self.interval:
                cost = self._sample_on_time(now)
            if now >= self._listen_at:
                self._listen_at = now + LISTEN_SECONDS
                aside, self._aside = self._aside, []
                requests.answer(self, aside + self.connection.receive())
        with self.quiet():
            if not self.exiting:
                self.looking.round(now)
                self.window.tell(self)
        return cost

    def _sample_on_time(self, now):
        begun, self.figures.heap_cost = own.thread_time(), 0.0
        heap = now >= self.figures.heap_at
        if heap or now - self._sampled_at >= self.interval / 2:
            self.sample(heap)
        return own.thread_time() - begun - self.figures.heap_cost

    def look_below(self):
        """Looks at graphs. Called on the main thread."""
        with self.quiet():
            if not self.exiting and not self._step_lock.locked():
                with self._step_lock:
                    self.looking.below()

    def sample(self, heap=False):
        """Tells the present figures."""
        self._sampled_at = own.monotonic()
        row = self.figures.row(heap)
        if row is not None:
            live, self.idle = row.get("pool_live_bytes"), row.get("pool_idle_bytes")
            if self.steps.go_on(self._sampled_at):
                self._lives = []
            elif live is not None:
                self._lives = [*self._lives[1 - LIVES :], live]
                self._live = min(self._lives)
            self.connection.send_sample(row)

    def held(self):
        """Bytes of arrays at the last step that was sampled, or where the program takes no steps
        the fewest at some samples, and of the host heap; each None while unknown."""
        return self._live, self.figures.heap_bytes

    def heap_now(self):
        """Bytes of the host heap at this moment, None while it has not been read at its own pace."""
        return None if self.figures.heap_bytes is None else self.figures.heap().bytes()

    # Experiments.

    @property
    def survivors(self):
        """What was alive earlier, to compare with: a Register, or None."""
        return self.surveys.reference()


def _now():
    """CLOCK_MONOTONIC, in nanoseconds."""
    return own.clock_gettime_ns(own.CLOCK_MONOTONIC)
