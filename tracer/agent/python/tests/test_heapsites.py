"""When windows of the host's heap and of a device's blocks are opened, and what is told of them."""

import sys
import types
import unittest
from unittest import mock

from gpumem_agent import blocksites, heapsites, sitewindows
from gpumem_agent.sitewindows import APART, FIRST_SECONDS, SECONDS

MIB = 1 << 20
SITES = [{"site": "a.py:7 keep", "bytes": 4096, "count": 1}]


class Doors:
    """The interposer's windows, which a test looks into."""

    def __init__(self):
        self.opened = 0
        self.closed = []
        self.rate = 0  # calls at each look
        self.count = 0

    def calls(self):
        self.count += self.rate
        return self.count

    def open(self):
        self.opened += 1
        return True

    def close(self, seconds):
        self.closed.append(seconds)
        return list(SITES)


class HeapSitesTest(unittest.TestCase):
    def setUp(self):
        self.doors = Doors()
        self.process = types.SimpleNamespace(
            figures=types.SimpleNamespace(heap_bytes=None),
            surveys=types.SimpleNamespace(explains=lambda process: False),
        )
        patch = mock.patch.object(heapsites, "open_doors", lambda process: self.doors)
        patch.start()
        self.addCleanup(patch.stop)
        with mock.patch.object(sitewindows.own, "monotonic", lambda: 0.0):
            self.sites = heapsites.HeapSites()

    def run_for(self, begin, end, heap):
        """What is told in these seconds, with a heap of so many bytes at each moment."""
        told = []
        for tenth in range(int(begin * 10), int(end * 10)):
            now = tenth / 10
            self.process.figures.heap_bytes = heap(now)
            found = self.sites.look(self.process, now)
            if found:
                told.append((now, found))
        return told

    def test_a_heap_that_rises_is_looked_at_and_what_stays_is_told(self):
        told = self.run_for(0, 12, lambda now: int(now * MIB))
        self.assertEqual([when for when, _ in told], [FIRST_SECONDS + SECONDS])
        self.assertEqual(told[0][1], {"host_sites": SITES, "seconds": SECONDS / 2})
        self.assertEqual(self.doors.closed, [SECONDS / 2])

    def test_a_window_that_costs_too_much_is_closed_early(self):
        self.doors.rate = int(0.003 / heapsites.HeapSites.call)
        ((when, told),) = self.run_for(0, 12, lambda now: int(now * MIB))
        self.assertAlmostEqual(when, FIRST_SECONDS + 3.4)
        self.assertAlmostEqual(told["seconds"], 1.7)
        self.assertAlmostEqual(self.doors.closed[0], 1.7)

    def test_one_that_costs_too_much_at_once_tells_nothing(self):
        self.doors.rate = int(0.02 / heapsites.HeapSites.call)
        self.assertEqual(self.run_for(0, 12, lambda now: int(now * MIB)), [])
        self.assertEqual(len(self.doors.closed), 1)

    def test_windows_come_further_and_further_apart(self):
        self.run_for(0, 70, lambda now: int(now * MIB))
        self.assertEqual(self.doors.opened, 3)  # after 5, 20 and 50 s
        self.assertEqual(APART * SECONDS, 15)

    def test_a_heap_that_does_not_rise_is_left_alone(self):
        self.run_for(0, 60, lambda now: 50 * MIB + int(now * 10))
        self.run_for(60, 110, lambda now: int((110 - now) * MIB))
        self.assertEqual(self.doors.opened, 0)

    def test_a_program_that_loads_its_code_is_left_alone(self):
        loaded = dict(sys.modules)
        with mock.patch.object(sitewindows.sys, "modules", loaded):

            def heap(now):
                loaded.update(("loaded_%s_%d" % (now, n), None) for n in range(4))
                return int(now * MIB)

            self.run_for(0, 20, heap)
            self.assertEqual(self.doors.opened, 0)
            self.run_for(20, 30, lambda now: int(now * MIB))
        self.assertEqual(self.doors.opened, 1)

    def test_what_holders_explain_is_left_alone(self):
        self.process.surveys.explains = lambda process: True
        self.run_for(0, 60, lambda now: int(now * MIB))
        self.assertEqual(self.doors.opened, 0)

    def test_where_no_window_can_be_had_it_is_asked_for_once(self):
        asked = []
        with mock.patch.object(heapsites, "open_doors", asked.append):
            self.run_for(0, 60, lambda now: int(now * MIB))
        self.assertEqual(asked, [self.process])

    def test_a_window_that_is_cut_short_tells_nothing_and_is_closed_once(self):
        self.run_for(0, 7, lambda now: int(now * MIB))
        self.assertEqual(self.sites.close(1.0), SITES)
        self.assertEqual(self.sites.close(), [])
        self.assertEqual(len(self.doors.closed), 1)
        self.assertEqual(self.run_for(7, 12, lambda now: int(now * MIB)), [])


class BlockSitesTest(unittest.TestCase):
    def setUp(self):
        self.doors = Doors()
        self.live = None
        self.process = types.SimpleNamespace(
            held=lambda: (self.live, None), frameworks=[types.SimpleNamespace(name="torch")]
        )
        patch = mock.patch.object(blocksites, "doors_of", lambda process, name, make: self.doors)
        patch.start()
        self.addCleanup(patch.stop)
        with mock.patch.object(sitewindows.own, "monotonic", lambda: 0.0):
            self.sites = blocksites.BlockSites()

    def run_for(self, seconds, live):
        told = []
        for tenth in range(seconds * 10):
            self.live = live(tenth / 10)
            found = self.sites.look(self.process, tenth / 10)
            if found:
                told.append((tenth / 10, found))
        return told

    def test_live_bytes_that_rise_are_looked_at(self):
        told = self.run_for(12, lambda now: int(now * MIB) if now > 1 else None)
        self.assertEqual(told, [(10.0, {"block_sites": SITES, "seconds": SECONDS / 2})])

    def test_a_window_in_which_nothing_stayed_is_told_too(self):
        self.doors.close = lambda seconds: []
        told = self.run_for(12, lambda now: int(now * MIB))
        self.assertEqual(told, [(10.0, {"block_sites": [], "seconds": SECONDS / 2})])

    def test_live_bytes_that_stay_are_left_alone(self):
        self.run_for(12, lambda now: 500 * MIB + int(now * 1000))
        self.assertEqual(self.doors.opened, 0)

    def test_a_framework_that_reports_no_blocks_is_left_alone(self):
        self.process.frameworks = [types.SimpleNamespace(name="jax")]
        self.run_for(12, lambda now: int(now * MIB))
        self.assertEqual(self.doors.opened, 0)


if __name__ == "__main__":
    unittest.main()
