"""When to note what lives, and which note to compare with at the end.

A program that tells steps is surveyed a few steps in, on the thread that made
the step: by then its model, its optimizer's state and its caches are there. A
baseline that the program marks beats that. One that tells neither is not
surveyed before its end: no other moment is safe to look at all its objects.
"""

STEPS = 5  # after which the furniture is in


class Surveys:
    """The surveys of one process. Nothing is imported until the first."""

    def __init__(self):
        self.reference = None  # survivors.Register to compare with
        self.at_rest = False  # the program's own thread stands in our code
        self._is_final = False
        self._sites_tried = False

    def restart(self):
        """A device came to life: what was noted before is of no use."""
        if not self._is_final:
            self.reference = None

    def due(self, steps):
        """Whether to take one now."""
        return not self._is_final and steps >= STEPS

    def take(self, process):
        """Takes one now, on the thread whose program stands still for it."""
        from gpumem_agent.survivors import Register

        self._is_final = True
        self.reference = Register(process.frameworks)
        if process.sites_wanted:
            self.reference.note_sites()

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
