"""What looks for holders may cost, and which of them are free."""

SHARE = 0.001  # of the time, for looks
CREDIT = 0.2  # seconds that the first looks may take beyond that
FREE = 3  # looks beyond both, of a program that grows while nobody is known to hold it
FREE_UNSEEN = 2  # likewise, where the pool keeps more or more is pinned, of which no array tells


class Allowance:
    """The time that the looks at one process may take."""

    def __init__(self):
        self.spent = 0.0  # seconds, for looks
        self.free = FREE  # looks that need not be paid for
        self.free_unseen = FREE_UNSEEN

    def paid(self, begun):
        """When what looks have cost so far is little enough of a life that begun then."""
        return begun + max(0.0, self.spent - CREDIT) / SHARE

    def take(self, is_unseen):
        """Takes a look that is not paid for off those that are free."""
        if is_unseen:
            self.free_unseen -= 1
        else:
            self.free -= 1
