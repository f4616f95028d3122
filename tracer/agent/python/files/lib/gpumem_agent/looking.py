"""What the sampling thread looks at now and then, beside the figures."""

from gpumem_agent import threadpools
from gpumem_agent.profilers import Profilers

ROUND_SECONDS = 0.2  # between rounds: what is due comes at seconds
POOLS_SECONDS = 2.0  # between looks at pools of threads and at profilers
LIST_LENGTH = 50  # holders or sites told at once
# What a forked child's heap grows by before it is looked at: bytes, and parts of what it was. A
# look writes to the objects it reads, and so to pages that were the parent's: 29 % of PyTorch's heap.
OWN_HEAP, OWN_PART = 16 << 20, 0.5


class Looking:
    """The looks of one process, and what came of them."""

    def __init__(self, process):
        self._process = process
        self._round_at = self._pools_at = 0.0
        self._pools = None  # of threads, as they were told
        self._profilers = Profilers()
        self._forked_heap = None  # bytes that a forked child's heap had at first

    def round(self, now):
        """One round of the sampling thread: looks at what is due."""
        process = self._process
        if now < self._round_at:
            return
        self._round_at = now + ROUND_SECONDS
        if process.hold and not self.is_shared() and process.surveys.look(process, now):
            self.tell("holders", process.surveys.told)
            self.tell("sites", process.surveys.sites_news())
            if process.surveys.wants_below(process):
                if process.steps.go_on(now):
                    process.surveys.graphs.below_next()
                elif process.late is None:
                    process.errands.hand_over(process.look_below)
        if now >= process.generations.next:
            self.at_blocks(now, False)
        self._at_pools(now)
        for windows in process.site_windows if process.hold else ():
            found = windows.look(process, now)
            if found:
                process.mark(windows.kind, "", detail=found)

    def at_step(self, now):
        """Looks at what is due at a step of the program's, on its thread."""
        process = self._process
        if now >= process.generations.next:
            self.at_blocks(now, True)
        if process.sites_wanted:
            process.surveys.look_at_sites(process, now)
            self.tell("sites", process.surveys.sites_news())

    def survey(self):
        """Notes what lives, or looks what keeps graphs: see Surveys. Called at a step."""
        process = self._process
        if process.surveys.due(process.steps.count):
            process.surveys.take(process, process.frameworks)
        if process.surveys.look_at_graphs(process, process.steps.count):
            self.tell("holders", process.surveys.told)

    def below(self):
        """Looks at graphs, on the main thread."""
        self._process.surveys.look_below(self._process)
        self.tell("holders", self._process.surveys.told)

    def at_blocks(self, now, at_step):
        """Tells of what age the blocks are that live, now and then."""
        process = self._process
        found = process.generations.look(process, now, at_step) if process.hold else None
        if found:
            process.mark("generations", "", detail=found)

    def _at_pools(self, now):
        """Tells of pools of threads when they have changed, and of a profiler that goes on recording."""
        if now < self._pools_at:
            return
        self._pools_at = now + POOLS_SECONDS
        pools = threadpools.told()
        if pools is not None and pools != self._pools:
            self._pools = pools
            self._process.mark("event", "thread pools", detail=pools)
        found = self._profilers.news(now, self._process.has_history())
        if found is not None:
            self._process.mark("event", "profiling", found[0], found[1])

    def is_shared(self):
        """Whether this is a forked child that has little memory beyond its parent's: to look
        at it would cost more than is found."""
        process = self._process
        heap = process.figures.heap_bytes
        if not process.is_forked or heap is None:
            return process.is_forked
        if self._forked_heap is None:
            self._forked_heap = heap
        return heap < self._forked_heap + max(OWN_PART * self._forked_heap, OWN_HEAP)

    def tell(self, kind, found):
        """Tells survivors unasked."""
        if found:
            self._process.mark(kind, "", detail={kind: found[:LIST_LENGTH]})
