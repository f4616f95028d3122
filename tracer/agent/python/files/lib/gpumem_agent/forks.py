"""The sampling thread around forks, and around calls that must have the process to themselves."""

import sys

from gpumem_agent import imports
from gpumem_agent.sampling import paused

COUNTS_THREADS_LATE = sys.version_info >= (3, 13)  # see later.py


class Forks:
    """When one process's sampling thread stands still, and what a forked child starts with."""

    def __init__(self, process):
        self._process = process
        self._later = None
        self._is_asleep = False  # the sampler was stopped for a fork, or see alone.py

    def handlers(self):
        """What is to be called around forks: before, in the parent, in the child."""
        return self._before, self._after_in_parent, self._after_in_child

    def sleep(self, patience):
        """Ends the sampling thread until wake, waiting for it so many seconds.
        Returns whether it ran."""
        ran = not self._is_asleep and not self._process.exiting
        if ran:
            self._is_asleep = True
            self._process.sampler.stop(patience)
        return ran

    def wake(self):
        """Starts sampling again after a fork or a sleep."""
        process = self._process
        with process.quiet():
            if self._is_asleep and not process.exiting:
                self._is_asleep = False
                process.start_sampler(process.interval)

    def retire(self, late):
        """The agent leaves: late.Late keeps what may still be called."""
        if self._later is not None and self._later.retire():
            late.keep(self._later)

    def _before(self):
        process = self._process
        if process.late is not None:
            process.late.wait()
        with process.quiet():
            if COUNTS_THREADS_LATE and self._later is None:
                imports.bring("gpumem_agent.native")  # which the next one needs
                self._later = imports.bring("gpumem_agent.later").Later(self.wake)
        with process.quiet():
            process.sampler.park()

    def _after_in_parent(self):
        process = self._process
        with process.quiet():
            if process.sampler.resume() or process.exiting:
                return
            self._is_asleep = True
            if self._later is not None:
                self._later.call(sys._getframe(1))
            else:
                self.wake()

    def _after_in_child(self):
        process = self._process
        with process.quiet():
            paused.over()  # the thread that was at it is the parent's
            self._is_asleep = False
            process.become_forked()
