"""What nothing but each other refers to, where nobody collects it."""

import ctypes
import gc
import os
import time
import types
import unittest

import torch
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.holders import garbage, rings
from gpumem_agent.surveys import Surveys

MIB = 1 << 20
NUMBER = 300
TREES, NODES, STATE = 20, 64, 1 << 16  # nodes of a tree, and bytes of one


class Unarmed:
    sites_wanted = False


class Bow:
    pass


class Branch:
    def __init__(self, parent):
        self.parent, self.children = parent, []
        self.state = torch.empty(STATE)
        if parent is not None:
            parent.children.append(self)


def tree(number):
    """The last node of a tree whose nodes know those above and below them."""
    nodes = [Branch(None)]
    for i in range(1, number):
        nodes.append(Branch(nodes[i // 4]))
    return nodes[-1]


class GarbageTest(unittest.TestCase):
    def setUp(self):
        gc.collect()
        was_on = gc.isenabled()
        gc.disable()
        self.addCleanup(lambda: [gc.collect(), gc.enable() if was_on else None])
        self.process = types.SimpleNamespace(
            frameworks=[adapter.open_framework(torch, Unarmed)],
            sites_wanted=False,
            held=lambda: (None, None), idle=None, heap_now=lambda: None,
        )
        self.surveys = Surveys()

    def found(self, make, times=NUMBER):
        """The reference cycles that are told when make was called often."""
        for number in (1, times, 2 * times):
            for _ in range(number):
                make()
            self.surveys._begun = time.monotonic()
            self.assertTrue(self.surveys.look_now(self.process, time.monotonic() + 20))
        return [h for h in self.surveys.told if h.get("kind") == "reference-cycle"]

    def tie(self, **more):
        bow = Bow()  # made here
        vars(bow).update(more, itself=bow)
        return bow

    def line(self, words):
        with open(__file__) as source:
            ends = [line.rstrip().endswith("# " + words) for line in source]
        return "%s:%d" % (__file__, ends.index(True) + 1)

    def test_cycles_are_told_with_their_bytes_and_the_line_that_makes_them(self):
        (told,) = self.found(lambda: self.tie(blob=os.urandom(10000)) and None)
        self.assertEqual(told["path"], "Bow objects: a reference cycle through .itself")
        self.assertTrue(told["filled"].startswith(self.line("made here")), told)
        self.assertTrue(2 * NUMBER * 10000 < told["bytes"] < 3 * NUMBER * 10000, told)

    def test_beside_a_device_their_arrays_count_and_what_they_share_does_not(self):
        torch.empty(512)  # the device lives
        shared = torch.empty(64 * MIB)
        (told,) = self.found(lambda: self.tie(array=torch.empty(MIB), net=shared) and None)
        self.assertEqual(told["path"], "Bow objects: a reference cycle through .itself")
        self.assertTrue(2 * NUMBER * MIB < told["bytes"] < 3 * NUMBER * MIB, told)

    def test_a_tree_is_garbage_as_a_whole_with_the_arrays_of_its_nodes(self):
        torch.empty(512)  # the device lives
        (told,) = self.found(lambda: tree(NODES) and None, TREES)
        self.assertEqual(told["path"], "Branch objects: a reference cycle through .children and .parent")
        size = TREES * NODES * STATE
        self.assertTrue(2 * size < told["bytes"] < 3.5 * size, told)

    def test_the_attributes_of_a_cycle_are_those_of_the_shortest_way_back(self):
        first, second = Bow(), Bow()
        first.partner, first.others, second.keeper = {"b": second}, [[], Bow()], first
        self.addCleanup(vars(first).clear)
        everything = [first], lambda child: gc.is_tracked(child) and not isinstance(child, type)
        self.assertEqual(rings.through(*everything), " through .keeper and .partner")
        second.keeper = Bow()
        self.assertEqual(rings.through(*everything), "", "there is none")
        second.keeper = {n: [n] for n in range(rings.BELOW)}
        second.keeper["back"] = first
        self.assertEqual(rings.through(*everything), "", "not that far")

    def test_a_tree_of_which_a_node_is_known_is_alive(self):
        known = []
        self.assertEqual(self.found(lambda: known.append(tree(NODES)), TREES), [])

    def test_what_a_name_or_native_code_has_is_alive(self):
        kept = []
        self.assertEqual(self.found(lambda: kept.append(self.tie())), [])
        unseen, one = [], ctypes.pythonapi

        def hold():
            bow = self.tie()
            one.Py_IncRef(ctypes.py_object(bow))
            unseen.append(id(bow))

        self.assertEqual(self.found(hold), [])
        for identity in unseen:
            one.Py_DecRef(ctypes.cast(identity, ctypes.py_object))

    def test_what_is_below_something_alive_is_alive(self):
        ends = []

        def link():  # a chain that begins with its youngest link
            ends[:] = [self.tie(link=tuple(ends))]

        self.assertEqual(self.found(link), [])

    def test_where_somebody_collects_nobody_looks(self):
        self.assertTrue(garbage.is_off())
        gc.enable()
        self.assertFalse(garbage.is_off())
        before = gc.get_threshold()
        self.addCleanup(lambda: gc.set_threshold(*before))
        gc.set_threshold(0)
        self.assertTrue(garbage.is_off())


if __name__ == "__main__":
    unittest.main()
