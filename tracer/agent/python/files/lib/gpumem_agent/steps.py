"""Counts steps: the user's gpumem.step(), else rounds of the optimizer."""


class Steps:
    """The count of one process. Calls come from the program's own threads;
    the interpreter's lock makes the single statements atomic, and a lost
    count under a race of two training threads is a count, not an error."""

    def __init__(self):
        self.count = 0
        self.by_user = False
        self._clock = None  # identity of the optimizer whose steps count
        self._others = set()

    @property
    def known(self):
        return self.count > 0

    def user(self, number=None):
        """A step that the user marked. From then on optimizers do not count."""
        if not self.by_user:
            self.by_user, self.count = True, 0
        self.count = self.count + 1 if number is None else int(number)

    def optimizer(self, identity):
        """A step of an optimizer. Returns whether a round ended with it.

        Programs with several optimizers (two networks, or two kinds for one)
        step each of them once a round, so the first one is the clock. Another
        becomes the clock when it steps twice while the first stands still."""
        if identity == self._clock and not self._others and not self.by_user:
            self.count += 1  # the usual case, once a step of the program
            return True
        if self.by_user:
            return False
        if self._clock is None or identity in self._others:
            self._clock = identity
        if identity != self._clock:
            self._others.add(identity)
            return False
        self._others.clear()
        self.count += 1
        return True
