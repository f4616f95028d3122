"""Whether the program records itself with PyTorch's profiler, and the line that has it do so. Until
it stops, the profiler keeps a record of each operation: of a long run that is a leak."""

import sys

MODULE = "torch.autograd.profiler"
FLAG = "_is_profiler_enabled"  # true between a start and a stop
BEGINS = r"(?<!\w)(?<!def )(?:\w+\.)*profile\s*\("
FIRST = 4.0  # seconds that it has recorded when it is told first: one with a schedule stops before
LATER = 2  # times as long as when it was told last


class Profilers:
    """What was seen of them in one process."""

    def __init__(self):
        self._begun = None  # when it was seen first
        self._due = 0.0  # when it is told next

    def news(self, now):
        """(site, detail) of a profiler that goes on recording, each time for twice as long as when
        it was told before; None where there is none, or no news."""
        if getattr(sys.modules.get(MODULE), FLAG, False) is not True:
            self._begun = None
            return None
        if self._begun is None:
            self._begun, self._due = now, now + FIRST
        if now < self._due:
            return None
        self._due = self._begun + LATER * (now - self._begun)
        import re  # not before: a program finds no module of ours that it does not need

        from gpumem_agent.holders.texts import in_program

        sites = in_program(re.compile(BEGINS), "profile", 1)
        return sites[0] if sites else "", {"by": "torch.profiler", "seconds": round(now - self._begun, 3)}
