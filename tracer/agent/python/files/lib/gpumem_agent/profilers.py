"""Whether the program records itself with PyTorch's profiler, or has PyTorch's allocator record its history,
and the line that has it do so. Until it stops, either keeps a record of each operation: of a long run that is
a leak."""

import sys

MODULE = "torch.autograd.profiler"
FLAG = "_is_profiler_enabled"  # true between a start and a stop
# What records, and how the line begins that has it do so. A history may have a bound.
PROFILER = "torch.profiler", r"(?<!\w)(?<!def )(?:\w+\.)*profile\s*\(", "profile"
ALLOCATOR = "torch.cuda.memory", r"\b_record_memory_history\s*\((?!.*\bmax_entries\b)", "_record_memory_history"
FIRST = 4.0  # seconds that it has recorded when it is told first: one with a schedule stops before
LATER = 2  # times as long as when it was told last


class Profilers:
    """What was seen of them in one process."""

    def __init__(self):
        self._all = [Recording(*PROFILER), Recording(*ALLOCATOR)]

    def news(self, now, has_history=False):
        """(site, detail) of one that goes on recording, each time for twice as long as when
        it was told before; None where there is none, or no news. has_history: the program has an allocator
        record."""
        profiles = getattr(sys.modules.get(MODULE), FLAG, False) is True
        found = [one.news(now, is_on) for one, is_on in zip(self._all, (profiles, has_history))]
        return next(filter(None, found), None)


class Recording:
    """One that may record, by its name, the form of the line that begins it, and a word of that."""

    def __init__(self, by, begins, word):
        self._by, self._begins, self._word = by, begins, word
        self._since = None  # when it was seen first
        self._due = 0.0  # when it is told next

    def news(self, now, is_on):
        """As Profilers.news. It records now, or does not."""
        if not is_on:
            self._since = None
            return None
        if self._since is None:
            self._since, self._due = now, now + FIRST
        if now < self._due:
            return None
        self._due = self._since + LATER * (now - self._since)
        import re  # not before: a program finds no module of ours that it does not need

        from gpumem_agent.holders.texts import in_program

        sites = in_program(re.compile(self._begins), self._word, 1)
        if not sites and self._by == ALLOCATOR[0]:
            return None  # it has a bound
        return sites[0] if sites else "", {"by": self._by, "seconds": round(now - self._since, 3)}
