"""The columns of a sample, as they are now."""

import sys

from gpumem_agent import imports
from gpumem_agent.own import own
from gpumem_agent.sampling import HEAP_SECONDS, HEAP_SHARE, Pace

HEAP_AGE = 1.0  # seconds; a shorter script does not pay for the opening of _ctypes


class Figures:
    """What one process tells. rows may be asked for by several threads."""

    def __init__(self, process):
        self._process = process
        self._begun = own.monotonic()
        self._heap = None
        self._heap_tried = False
        self._heap_pace = Pace(HEAP_SECONDS, HEAP_SHARE)
        self.heap_at = self._begun + HEAP_SECONDS  # when it may be read again
        self.heap_cost = 0.0  # seconds that the last reading of the heap took
        self.heap_bytes = None  # at the last reading, or about; see hostheap

    def row(self, heap=False):
        """A sample's columns, None when nothing is known."""
        process, row = self._process, {}
        for framework in process.frameworks:
            try:
                if framework.active():
                    framework.sample(row)
            except Exception as err:
                if not process.quiet().swallows(err):
                    raise
        if heap:
            self._add_heap(row)
        if process.steps.count > 0:
            row["step"] = process.steps.count
        if not row:
            return None
        row["imported_count"] = len(sys.modules)
        if process.connection.dropped:
            row["dropped"] = process.connection.dropped
        row["t_ns"] = own.clock_gettime_ns(own.CLOCK_MONOTONIC)
        return row

    def heap(self):
        """The host heap's reader, or None."""
        if not self._heap_tried:
            self._heap_tried = True
            imports.bring("gpumem_agent.native")  # which the next one needs
            self._heap = imports.bring("gpumem_agent.hostheap").open_heap()
        return self._heap

    def _add_heap(self, row):
        young = own.monotonic() - self._begun < HEAP_AGE
        if young and "_ctypes" not in sys.modules:
            return
        heap = self.heap()
        begun = own.thread_time()
        used = heap.bytes() if heap is not None else None
        if heap is not None and heap.about is not None:
            self.heap_bytes = heap.about
        if used is not None:
            row["host_heap_bytes"] = used
            free = heap.free_bytes()
            if free is not None:
                row["host_heap_free_bytes"] = free
        self.heap_cost = own.thread_time() - begun
        self.heap_at = own.monotonic() + self._heap_pace.interval(self.heap_cost)
