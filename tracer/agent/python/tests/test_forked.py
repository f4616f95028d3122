"""When a forked child is looked at: it has its parent's objects in shared pages."""

import unittest

from gpumem_agent import process

MIB = 1 << 20


class ForkedTest(unittest.TestCase):
    def shared(self, *heaps, forked=True):
        """Whether the child has little beyond its parent's memory, at each of its heap's sizes."""
        child = process.Process("", 1.0, 0.0, True, False)
        child.is_forked = forked
        told = []
        for heap in heaps:
            child.figures.heap_bytes = heap
            told.append(child.looking.is_shared())
        return told

    def test_a_child_is_looked_at_once_half_as_much_again_is_its_own(self):
        self.assertEqual(self.shared(86 * MIB, 120 * MIB, 130 * MIB), [True, True, False])

    def test_a_small_one_has_at_least_what_a_look_may_write_to(self):
        self.assertEqual(self.shared(8 * MIB, 20 * MIB, 25 * MIB), [True, True, False])

    def test_a_child_whose_heap_nobody_reads_is_not_looked_at(self):
        self.assertEqual(self.shared(None, None), [True, True])

    def test_what_was_not_forked_is_looked_at(self):
        self.assertEqual(self.shared(86 * MIB, forked=False), [False])
