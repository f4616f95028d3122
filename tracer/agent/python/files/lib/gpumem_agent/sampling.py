"""The thread that samples, and the budgets that keep it cheap."""

import sys
import _signal
import _thread

from gpumem_agent.own import own

SHARE = 0.002  # of one core's time, for the regular samples
HEAP_SHARE = 0.0005  # likewise, for the host heap
HEAP_SECONDS = 0.5  # and never more often than this
STEP_SHARE = 0.003  # likewise, for samples at steps
STEP_SECONDS = 0.001  # the protocol's 1,000 a second
STEP_CREDIT = 0.02  # seconds of work at first, so that short programs are seen
STOP_SECONDS = 0.2  # a fork waits no longer for an action under way
TURN_SECONDS = 2.0  # and for a thread that only needs its turn on a busy machine
COUNTS_THREADS = sys.version_info >= (3, 12)  # fork warns when there are any


class Budget:
    """Allows work while its cost stays below a share of the time."""

    def __init__(self, share, least=0.0):
        self._share = share
        self._least = least
        self._debt = 0.0
        self._last = own.monotonic()

        self.next = self._last + least  # when work may be done again

    def ready(self, now):
        """Whether work may be done at this time."""
        return now >= self.next

    def spent(self, now, cost):
        """Books cost seconds of work done at this time."""
        self._debt = max(0.0, self._debt - (now - self._last) * self._share) + cost
        self._last = now
        self.next = now + max(self._least, self._debt / self._share)


class Pace:
    """The interval at which samples stay within a share. It follows a fall of
    their cost at once and a rise in steps, so that one dear sample, such as the
    first of all, does not slow the sampling down."""

    FIRST = 0.0001  # seconds, as if there had been one before
    RISE = 1.25  # at most, from one sample to the next

    def __init__(self, wanted, share):
        self._wanted = wanted
        self._share = share
        self._cost = self.FIRST  # as it is reckoned with

    def interval(self, cost):
        """The interval after a sample that cost so many seconds."""
        most = self._cost * self.RISE
        self._cost = cost = cost if cost < most else most
        return max(self._wanted, cost / self._share)


class StepPace(Pace):
    """The pace of samples at steps: each step brings one along until the credit
    is spent, then one an interval."""

    def __init__(self, wanted):
        super().__init__(wanted, STEP_SHARE)
        self._credit = STEP_CREDIT

    def interval(self, cost):
        self._credit -= cost
        interval = super().interval(cost)
        return STEP_SECONDS if self._credit > 0 else interval


class Sampler:
    """A thread that calls tick at an interval until stopped; tick returns the
    seconds that its regular sample cost, or None when it is hardly needed.
    Around a fork it is parked where it holds no lock of anybody's, or stopped
    where a thread more would make the interpreter warn.

    It is a bare _thread: threading's own lists and counts show the program
    what they would show without us. All signals are blocked in it, so that
    none is taken away from the program's threads."""

    def __init__(self, tick, interval, idle, first):
        self._tick = tick
        self._pace = Pace(interval, SHARE)
        self._idle = idle  # the interval while samples come without the thread
        self._first = first
        self._wake = own.allocate_lock()
        self._wake.acquire()
        self._done = own.allocate_lock()
        self._done.acquire()
        self._busy = own.allocate_lock()
        self._parked = False
        self._native = None
        self._identity = None
        self._stopping = False

    def start(self):
        """Starts the thread; nothing happens where none can be started."""
        with signals_blocked():
            try:
                self._identity = own.start_new_thread(self._run, ())
            except RuntimeError:  # no more threads, or the interpreter is ending
                self._done.release()

    def park(self):
        """Before a fork: no tick is under way any more, and none begins."""
        if COUNTS_THREADS:
            self.stop()
        else:
            self._parked = self._busy.acquire(timeout=STOP_SECONDS)

    def resume(self):
        """After the fork, in the parent. Returns whether the thread is still
        there; else the caller makes a new one."""
        if self._parked:
            self._parked = False
            self._busy.release()
        return not self._stopping

    def poke(self):
        """Lets the thread tick now."""
        try:
            self._wake.release()
        except RuntimeError:
            pass  # somebody else just did

    def finish(self):
        """Ends the thread when what it does now is done; called by that itself."""
        self._stopping = True

    def stop(self, patience=None):
        """Stops the thread. With patience, in seconds, or where the interpreter
        counts threads, also waits until the operating system has forgotten it."""
        if self._stopping or own.get_ident() == self._identity:
            return
        self._stopping = True
        self.poke()
        if not self._is_done(patience or STOP_SECONDS) or self._native is None:
            return
        if patience is None and not COUNTS_THREADS:
            return
        task = "/proc/self/task/%d" % self._native
        deadline = own.monotonic() + TURN_SECONDS
        while _exists(task) and own.monotonic() < deadline:
            own.sleep(0.00002)

    def _is_done(self, patience):
        """Waits for the thread's end, longer when it has nothing under way."""
        if self._done.acquire(timeout=patience):
            return True
        return not self._busy.locked() and self._done.acquire(timeout=TURN_SECONDS)

    def _run(self):
        try:
            if hasattr(_thread, "get_native_id"):
                self._native = _thread.get_native_id()
            self._loop()
        except BaseException:
            pass  # the interpreter would print it as the program's
        finally:
            self._done.release()

    def _loop(self):
        wait = self._first
        while not self._stopping:
            self._wake.acquire(timeout=wait)
            if self._stopping:
                return
            begun = own.monotonic()
            with self._busy:
                cost = self._tick(begun)
            spent = own.monotonic() - begun
            interval = self._idle if cost is None else self._pace.interval(cost)
            wait = max(interval - spent, 0.001)


class signals_blocked:
    """A thread started inside inherits a mask that blocks every signal."""

    def __enter__(self):
        self._old = None
        if hasattr(_signal, "pthread_sigmask"):
            every = _signal.valid_signals()
            self._old = _signal.pthread_sigmask(_signal.SIG_BLOCK, every)

    def __exit__(self, *_):
        if self._old is not None:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, self._old)


def _exists(path):
    try:
        own.stat(path)
    except OSError:
        return False
    return True


class paused:
    """Keeps the interpreter from switching threads of its own accord: other
    Python threads stand still while the body runs Python, and objects that
    the body looks at do not outlive their time in the meantime."""

    SECONDS = 0.1  # also how long we may wait for our turn when we lose it
    _old = None  # the interpreter's own interval, while a body runs

    def __enter__(self):
        self._is_inner = paused._old is not None
        if not self._is_inner:
            paused._old = sys.getswitchinterval()
        sys.setswitchinterval(self.SECONDS)

    def __exit__(self, *_):
        if not self._is_inner:
            self.over()

    @staticmethod
    def is_on():
        """Whether a body runs."""
        return paused._old is not None

    @staticmethod
    def over():
        """Ends it, also in a child that was forked while a body ran."""
        old, paused._old = paused._old, None
        if old is not None:
            sys.setswitchinterval(old)
