"""How old the blocks of an allocator are: who of them lives at look after look.

A block that lives at a look and did not at the one before is of that look's
generation. Blocks have no names: one is its address and its size, and a block that is
free at one look has ended. A program that only works again and again leaves none of a
generation behind; of one that keeps, each generation leaves survivors. Both can be
seen below a sawtooth that hides what is live from any trend.

An address is used again, so a block that comes and goes may be taken for one that
stays, when it happens to live at both looks: programs with steps are looked at where
one ends, when most of what comes and goes is gone.
"""

from gpumem_agent.own import own

FIRST_SECONDS = 2.0  # of the device's life, before the first look
FACTOR = 1.5  # the age at a look, in ages at the one before
SHARE = 0.001  # of the time, for looks
CREDIT = 0.02  # seconds that the first looks may take beyond that
MOST = 20_000  # blocks: a program with more is not looked at
LENGTH = 32  # generations told; older ones are told as one


class Generations:
    """The looks at the blocks of one process."""

    def __init__(self):
        self.next = float("inf")  # when the next look is due
        self._begun = 0.0  # when the device came to life
        self._born = {}  # number of its look, by block
        self._looks = []  # when they were
        self._spent = 0.0  # seconds

    def begin(self, now):
        """A device came to life."""
        self._begun, self.next = now, now + FIRST_SECONDS

    def look(self, process, now, at_step):
        """Looks at the blocks once that is due, with steps only where one ends. Returns
        what a mark tells of them, or None."""
        if process.steps.go_on(now) != at_step:
            return None
        age = now - self._begun
        self.next = now + age  # should this fail
        begun = own.thread_time()
        active = (f.blocks(MOST) for f in process.frameworks if f.active())
        found = next((seen for seen in active if seen is not None), None)
        told = self._note(found[0], now) if found is not None else None
        if told is not None and len(found[1]) > 1:
            told["pools"] = found[1]
        cost = own.thread_time() - begun
        self._spent += cost
        paid = max(0.0, self._spent - CREDIT) / SHARE
        self.next = self._begun + max(age * FACTOR, paid)
        if told is not None:
            told["cost_us"] = int(cost * 1e6)
        return told

    def _note(self, blocks, now):
        """Takes in a look at blocks: pairs of an identity and a size."""
        before, number = self._born, len(self._looks)
        self._looks.append(now)
        born, sums = {}, [[0, 0] for _ in self._looks]
        for block, size in blocks:
            look = before.get(block, number)
            born[block] = look
            entry = sums[look]
            entry[0] += size
            entry[1] += 1
        self._born = born
        return {"generations": self._told(sums, now)}

    def _told(self, sums, now):
        """The generations, the oldest first: how long ago the look was that found them
        first, and what of them lives."""
        ages = [int(1000 * (now - when)) for when in self._looks]
        extra = max(0, len(sums) - LENGTH)
        oldest = [sum(s[0] for s in sums[: extra + 1]), sum(s[1] for s in sums[: extra + 1])]
        kept = [oldest] + sums[extra + 1 :]
        return [
            {"ago_ms": age, "bytes": size, "count": count}
            for age, (size, count) in zip(ages[extra:], kept)
        ]
