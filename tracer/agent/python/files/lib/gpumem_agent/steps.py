"""Counts steps: the user's gpumem.step(), else rounds of the optimizer."""

from itertools import repeat
from _operator import length_hint

STILL = 5.0  # seconds without a step, and
TIMES = 3  # times as many as there ever were between two, after which a program has done with them


class Steps:
    """The count of one process. Calls come from the program's own threads;
    the interpreter's lock makes the single statements atomic, and a lost
    count under a race of two training threads is a count, not an error."""

    def __init__(self):
        self._counted = 0, 0, ()  # and how many times the run was to give, and it
        self.restart()

    def restart(self):
        """A forked child counts its own."""
        _, length, run = self._counted
        self._counted = length_hint(run) - length, length, run
        self.by_user = False
        self.due = 0.0  # time.monotonic() from which a step brings a sample along
        self.plain = None  # identity of the optimizer each of whose steps counts
        self._clock = None  # likewise, but steps of others may come in between
        self._others = set()
        self._seen = 0  # steps, when they were looked at last
        self._moved = self._longest = 0.0  # when there were more, and the longest time between two

    @property
    def count(self):
        counted, length, run = self._counted
        return counted + length - length_hint(run)

    @property
    def known(self):
        return self.count > 0

    def look(self, now):
        """Notes whether more steps came. The sampling thread calls it."""
        count = self.count
        if count == self._seen:
            return
        if self._seen:
            self._longest = max(self._longest, now - self._moved)
        self._seen, self._moved = count, now

    def go_on(self, now):
        """Whether the program takes steps. One that has trained a model and now serves it has
        done with them, and what is to be done at a step would never be."""
        return self.known and now - self._moved <= max(STILL, TIMES * self._longest)

    def passed(self):
        """One step more."""
        counted, length, run = self._counted
        self._counted = counted + 1, length, run

    def run(self, value, length):
        """Counts a step, and returns an iterator that gives the value so often:
        each time is a step more."""
        run = repeat(value, length)
        self._counted = self.count + 1, length, run
        return run

    def user(self, number=None):
        """A step that the user marked. From then on optimizers do not count."""
        counted = self.count if self.by_user else 0
        self.by_user, self.plain = True, None
        self._counted = counted + 1 if number is None else int(number), 0, ()

    def optimizer(self, identity):
        """A step of an optimizer. Returns whether a round ended with it.

        Programs with several optimizers (two networks, or two kinds for one)
        step each of them once a round, so the first one is the clock. Another
        becomes the clock when it steps twice while the first stands still."""
        if self.by_user:
            return False
        if self._clock is None or identity in self._others:
            self._clock = identity
        if identity != self._clock:
            self._others.add(identity)
            self.plain = None
            return False
        self._others.clear()
        self.plain = identity
        self.passed()
        return True
