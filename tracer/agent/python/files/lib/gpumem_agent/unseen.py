"""What grows of which no count of arrays or of the heap tells: what a pool keeps, and what is
pinned for a device. Who has that holds it by objects that are no arrays, or by arrays that
count as nothing of the heap."""

from gpumem_agent import mappings

IDLE = 64 << 20  # bytes that the pool keeps more, to look for what has pools of its own
SHARED = 8 << 20  # bytes of shared memory more, of which what is pinned is a part
SECONDS = 1.0  # between questions whether either rose


class Unseen:
    """What is known of it in one process."""

    def __init__(self):
        self._idle = None  # bytes that the pool kept at the last look
        self._first = self._last = None  # bytes of shared memory at the first look, and the last
        self._next = 0.0  # when to ask again

    def note_pool(self, idle):
        """Notes what the pool keeps at a look."""
        self._idle = idle

    def note_shared(self, shared):
        """Notes the shared memory at a look. Returns what there was at the first."""
        self._first, self._last = shared if self._first is None else self._first, shared
        return self._first

    def rose(self, idle, now):
        """Whether either is much larger than at the last look; false where that was asked a moment
        ago."""
        if now < self._next:
            return False
        self._next = now + SECONDS
        return self.rises(idle)

    def rises(self, idle):
        """The same, asked at any time."""
        return self.keeps_more(idle) or self.pins_more()

    def keeps_more(self, idle):
        """Whether the pool keeps much more than at the last look."""
        return None not in (self._idle, idle) and idle - self._idle >= IDLE

    def pins_more(self):
        """Whether shared memory is much larger than at the last look."""
        shared = mappings.shared()
        if self._last is None:
            self._last = shared
        return None not in (shared, self._last) and shared - self._last >= SHARED
