"""What a tee keeps for the branch that is read behind the others."""

import collections
import gc
import itertools
import sys
import time
import types
import unittest
import unittest.mock

from gpumem_agent.holders import tees
from gpumem_agent.surveys import Surveys

NUMBER = 3000
M = __name__


class Feed:
    def __init__(self, items):
        self.first, self.second, self.third = itertools.tee(items, 3)  # makes branches

    def read(self):
        for _ in range(NUMBER):
            next(self.first)
        for _ in range(NUMBER * 4 // 5):
            next(self.second)


class TeesTest(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.process = types.SimpleNamespace(
            frameworks=[], sites_wanted=False, held=lambda: (None, None), idle=None, heap_now=lambda: None
        )
        self.surveys = Surveys()

    def keep(self, **names):
        globals().update(names)
        self.addCleanup(lambda: [globals().pop(n, None) for n in names])

    def look(self):
        self.surveys._begun = time.monotonic()
        self.assertTrue(self.surveys.look_now(self.process, time.monotonic() + 20))
        return {h["path"]: h for h in self.surveys.told}

    def grown(self, step):
        """What the last of three looks finds, of a program that does a step between them."""
        self.look()
        for times in (1, 2):  # what grew by no more than before may have come to its end
            for _ in range(times):
                step()
            found = self.look()
        return found

    def test_what_a_tee_has_yet_to_give_is_told_with_the_branch_behind(self):
        self.keep(feed=Feed("%d " % n * 50 for n in itertools.count()))
        found = self.grown(lambda: feed.read())
        (path,) = found
        self.assertEqual(path, "tee %s.feed.third" % M)
        told = found[path]
        self.assertIn(self.line("makes branches") + " __init__", told["filled"].split("; "))
        self.assertAlmostEqual(told["count"], 2 * NUMBER, delta=2 * tees.ELEMENTS)
        self.assertAlmostEqual(told["length"], 3 * NUMBER, delta=2 * tees.ELEMENTS)
        self.assertGreater(told["bytes"] / told["count"], sys.getsizeof("1000 " * 50))

    def test_links_of_a_tee_that_no_name_leads_to_are_told_as_such(self):
        self.keep(feed=Feed("%d " % n * 50 for n in itertools.count()))
        with unittest.mock.patch.object(tees, "behind", return_value=None):
            found = self.grown(lambda: feed.read())
        self.assertEqual(list(found), ["_tee_dataobject objects below %s.feed" % M])

    def test_a_branch_in_a_list_is_told_with_that(self):
        self.keep(branches=list(itertools.tee("%d " % n * 50 for n in itertools.count())))
        found = self.grown(lambda: collections.deque(itertools.islice(branches[0], NUMBER), 0))
        self.assertEqual(list(found), ["tee in list %s.branches" % M])

    def test_the_branch_behind_is_the_one_that_comes_to_the_others(self):
        for numbers in ((900, 0, 100), (0, 900, 200), (500, 900, 0), (0, 0, 900), (1, 0, 0)):
            branches = itertools.tee(range(1000), 3)
            for branch, number in zip(branches, numbers):
                collections.deque(itertools.islice(branch, number), 0)
            least = [id(b) for b, n in zip(branches, numbers) if n // tees.ELEMENTS == 0]
            self.assertIn(tees.behind(), least, numbers)
            del branches, branch
        self.assertIsNone(tees.behind())

    def line(self, words):
        with open(__file__) as source:
            ends = [line.rstrip().endswith("# " + words) for line in source]
        return "%s:%d" % (__file__, ends.index(True) + 1)


if __name__ == "__main__":
    unittest.main()
