"""Counts the steps of PyTorch's optimizers.

At first by a hook after each step, registered as PyTorch offers it. The step
drove what the hook touches from the processor's caches, so that its few lines
take a microsecond or two: too much for a step that takes less than one
thousandth of a second. So once one optimizer has stepped alone for a while, runs
of steps go by without the hook. PyTorch asks the dictionary of its hooks for
their values at each step; in a run that is the next() of an iterator of C, which
gives the values of what others registered and counts how often it did."""

import sys
from collections import OrderedDict
from itertools import chain

from gpumem_agent import threads
from gpumem_agent.own import own
from gpumem_agent.sampling import paused

HOOKS = "_global_optimizer_post_hooks"  # where torch.optim.optimizer has them
ALONE = 32  # steps of one optimizer in a row, before the first run
BETWEEN = 2  # of them between two runs with a sample in between
TRIES, PAUSE = 200, 0.001  # for a moment between two steps; seconds from one to the next
LONGEST = 128  # steps of a run: how many may be late for a sample once they get slow


class StepHook:
    """The hook of one process."""

    def __init__(self, module, compiling, process, at_step):
        """compiling() says whether a compiler traces through the caller.
        at_step(optimizer, is_counted) is told of a step that nobody has counted
        yet, and of one at which a sample is due."""
        self._module = module
        self._process = process
        self._steps = process.steps
        self._at_step = at_step
        self._hook = self._made(compiling)
        self._is_armed = False
        self._handle = None  # PyTorch's, by which the hook is removed
        self._alone = 0  # steps of one optimizer in a row
        self._hooks = None  # _Hooks in PyTorch's place
        self._others = None  # the view of the hooks in it
        self._begun = 0.0  # the last run: when,
        self._length = 0  # how many steps after the first
        self._step_seconds = None

    def arm(self, is_late=False):
        """Registers the hook. A program that came first may be at a step, and is not
        to find another dictionary in the midst of its own hooks."""
        if not is_late or _has_lock() and self._between_steps(self._register):
            self._is_armed = True
            if not is_late:
                self._register()

    def _register(self):
        self._handle = self._module.register_optimizer_step_post_hook(self._hook)

    def disarm(self):
        """Takes the hook out. Returns whether nothing of it stays."""
        if not self._is_armed:
            return True
        self._is_armed = False
        return self._between_steps(self._remove)

    def _remove(self):
        """No optimizer is at a step, so that nobody iterates over the hooks."""
        self._handle.remove()
        if self._hooks is None or vars(self._module).get(HOOKS) is not self._hooks:
            return
        del self._hooks.values
        self._hooks.hidden = 0
        if not self._hooks:  # else handles of others point to it
            setattr(self._module, HOOKS, OrderedDict())

    def _between_steps(self, change):
        """Makes a change while no thread is at a step. Returns whether there was
        such a moment."""
        for _ in range(TRIES):
            with paused():
                own.sleep(0)  # a turn begins, in which nobody else runs
                if not _is_stepping(self._module):
                    change()
                    return True
            own.sleep(PAUSE)
        return False

    def _made(self, compiling):
        """A compiler that traces through the hook sees a constant and nothing
        else; such steps are not counted."""

        def after_step(optimizer, args, kwargs):
            if self._is_armed and not compiling():
                self._after_step(optimizer)

        return after_step

    def _after_step(self, optimizer):
        steps = self._steps
        if steps.plain != id(optimizer):
            self._alone = 0
            self._at_step(optimizer, False)
            return
        steps.passed()
        self._alone += 1
        if self._alone == ALONE and self._hooks is None:
            with self._process.quiet():
                self._step_in(optimizer)
        if own.monotonic() >= steps.due:
            self._at_step(optimizer, True)

    def _step_in(self, optimizer):
        """Puts a dictionary of ours in PyTorch's place, if all is as expected and
        nobody else has a hook in it: who registered it could not remove it."""
        hooks = vars(self._module).get(HOOKS)
        code = getattr(getattr(type(optimizer), "step", None), "__code__", None)
        if type(hooks) is not OrderedDict or len(hooks) != 1:
            return
        if HOOKS not in getattr(code, "co_names", ()) or not _has_lock():
            return
        self._hooks = _Hooks()
        self._others = OrderedDict.values(self._hooks)
        self._hooks.values = self._values
        setattr(self._module, HOOKS, self._hooks)

    def _values(self):
        """What PyTorch gets for the hooks of a step that is in no run."""
        try:
            now = own.monotonic()
            if self._steps.plain is None:
                self._alone = 0
            if self._alone >= ALONE and now < self._steps.due:
                self._begin_run(now)
                return self._others
            if self._length:
                self._alone = min(self._alone, ALONE - BETWEEN)
            self._length = 0
        except BaseException as error:
            if not self._process.quiet().swallows(error):
                raise
        return (*self._others, self._hook)

    def _begin_run(self, now):
        """Counts this step, and lets the next few go by without the hook.

        Not a chain over a generator: that would end for good with the first
        exception, such as a signal handler of the program's may raise."""
        if self._length:
            self._step_seconds = (now - self._begun) / (self._length + 1)
        length = 1
        if self._step_seconds:
            length += int(min((self._steps.due - now) / self._step_seconds, LONGEST - 1))
        self._begun, self._length = now, length
        run = self._steps.run(self._others, length)
        self._hooks.values = chain(run, iter(self._values, None)).__next__


class _Hooks(OrderedDict):
    """A dictionary of hooks whose values may be set as an attribute. It is as long
    as with the hook in it: some programs look whether that changes."""

    hidden = 1  # hooks that are not in it

    def __len__(self):
        return super().__len__() + self.hidden


def _is_stepping(module):
    """Whether a thread runs code of the module of optimizers, or nobody can tell."""
    running = threads.teller()()
    if not running:
        return True
    for frame in running.values():
        while frame is not None:
            if frame.f_code.co_filename == module.__file__:
                return True
            frame = frame.f_back
    return False


def _has_lock():
    """Whether the interpreter has its one lock, which makes the counting safe."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()
