"""When to note what lives, and which note to compare with at the end.

A program that tells steps is surveyed a few steps in: by then its model, its
optimizer's state and its caches are there. One that does not is surveyed at
doubling times, and compared with the survey before the last, so that there is
always a stretch to look at and never only its beginning. A baseline that the
program marks beats both.
"""

import time

STEPS = 5  # after which the furniture is in
SECONDS = 2.0  # after a device came to life, while there are no steps
HOST_SECONDS = 4.0  # after the start, while there is no device


class Surveys:
    """The surveys of one process. Nothing is imported until the first."""

    def __init__(self):
        self.reference = None  # survivors.Register to compare with
        self.at_rest = False  # the program's own thread stands in our code
        self._latest = None
        self._is_final = False
        self._next = time.monotonic() + HOST_SECONDS
        self._wait = HOST_SECONDS
        self._sites_tried = False

    def restart(self, now):
        """A device came to life: what was noted before is of no use."""
        if not self._is_final:
            self.reference = self._latest = None
            self._next, self._wait = now + SECONDS, SECONDS

    def due(self, now, steps):
        """Whether to take one now."""
        return not self._is_final and (steps >= STEPS or now >= self._next)

    def take(self, process, baseline=False):
        """Takes one now."""
        from gpumem_agent.survivors import Register

        register = Register(process.frameworks)
        self._is_final = baseline or process.steps.count >= STEPS
        if self._is_final or self._latest is None:
            self.reference = register
        else:
            self.reference = self._latest
        self._latest = register
        self._next, self._wait = time.monotonic() + self._wait, self._wait * 2
        if process.sites_wanted:
            register.note_sites()

    @property
    def wants_sites(self):
        """Whether the sites were not noted with the survey, because that would
        have disturbed the program while it ran."""
        missing = self._is_final and self.reference.sites is None
        return missing and not self._sites_tried

    def note_sites(self, process):
        """Notes them late, on the program's own thread at the end of a step."""
        self._sites_tried = self.at_rest = True
        try:
            self.reference.note_sites()
        finally:
            self.at_rest = False
