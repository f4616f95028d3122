"""How long holders have become, between looks that are not paid for."""

import gc
import time
import types
import unittest
import weakref
from unittest import mock

import torch
import acted
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.holders import recounts
from gpumem_agent.surveys import Surveys

MIB = 1 << 20
SIZE = 256 << 10
NUMBER = 40


class Cache:
    def __init__(self):
        self.blocks = []


class RecountsTest(unittest.TestCase):
    def setUp(self):
        self.process = types.SimpleNamespace(
            frameworks=[], sites_wanted=False, held=lambda: (None, None), idle=None, heap_now=lambda: None,
            exiting=False,
            steps=acted.Steps(False),
        )
        self.surveys = Surveys()

    def look(self):
        self.assertTrue(self.surveys.look_now(self.process, time.monotonic() + 20))

    def fill(self, blocks, number=NUMBER):
        blocks.extend(bytearray(SIZE) for _ in range(number))

    def after_a_look(self, cache):
        """Two looks, the second of which finds what came since the first; then none is paid for."""
        self.fill(cache.blocks)
        self.look()
        self.fill(cache.blocks)
        self.look()
        self.surveys._next = float("inf")
        self.surveys.allowance.free = 0

    def recounts(self):
        self.surveys._recount = time.monotonic()
        return self.surveys.look(self.process, time.monotonic())

    def held(self, end):
        (found,) = [h for h in self.surveys.told if h["path"].endswith(end)]
        return found

    def test_a_container_with_more_than_its_bound_has_none(self):
        way = recounts.Way([1], None, None, 30, 10)
        for length, has_bound in ((39, True), (42, True), (43, False)):
            with mock.patch.object(recounts, "_asked", lambda _, n=length: {"dict kept": (n, None)}):
                entry = {"path": "dict kept", "bytes": MIB, "count": 10, "length": 30, "bound": 40}
                told = recounts.asked_again([entry], {"dict kept": way}, 4.0, 1.0)["dict kept"]
            self.assertEqual((told["length"], "bound" in told), (length, has_bound))

    def test_a_local_container_is_told_as_long_as_it_has_become(self):
        cache = Cache()
        self.after_a_look(cache)
        before = self.held("cache.blocks")
        self.assertFalse(self.recounts(), "it is no longer than before")
        self.fill(cache.blocks, 3 * NUMBER)
        self.assertTrue(self.recounts())
        after = self.held("cache.blocks")
        self.assertEqual((before["length"], after["length"]), (2 * NUMBER, 5 * NUMBER))
        self.assertEqual(after["count"], 4 * before["count"])
        self.assertAlmostEqual(after["bytes"], 4 * NUMBER * SIZE, delta=NUMBER * SIZE / 4)
        self.assertGreaterEqual(after["over_ms"], before["over_ms"])

    def test_a_modules_container_is_found_by_the_modules_name(self):
        globals()["kept"] = Cache()
        self.addCleanup(globals().pop, "kept")
        self.after_a_look(globals()["kept"])
        self.fill(globals()["kept"].blocks)
        self.assertTrue(self.recounts())
        self.assertEqual(self.held("kept.blocks")["length"], 3 * NUMBER)

    def test_what_a_generator_has_is_found_while_it_stands_still_and_while_it_runs(self):
        def samples():
            cache = Cache()
            while True:
                turn = yield cache
                if turn:
                    self.fill(cache.blocks)
                    turn()

        each = [samples()]  # in nobody's variable, as that of a loop
        self.after_a_look(next(each[0]))
        self.fill(each[0].send(None).blocks)
        self.assertTrue(self.recounts())
        self.assertEqual(self.held("samples() local cache.blocks")["length"], 3 * NUMBER)
        each[0].send(lambda: self.assertTrue(self.recounts()))
        self.assertEqual(self.held("samples() local cache.blocks")["length"], 4 * NUMBER)

    def test_a_short_list_of_tensors_is_known_by_these(self):
        torch.empty(512)  # the device lives
        self.process.frameworks = [adapter.open_framework(torch, self.process)]
        cache = Cache()
        cache.blocks.append([torch.empty(MIB) for _ in range(6)])
        self.look()
        cache.blocks.extend([torch.empty(MIB) for _ in range(6)] for _ in range(2))
        self.look()
        self.surveys._next, self.surveys.allowance.free = float("inf"), 0
        cache.blocks.extend([torch.empty(MIB) for _ in range(6)] for _ in range(2))
        self.assertTrue(self.recounts())
        told = self.held("cache.blocks[…][…]")
        # How long so short a list was is not noted: 2 of 3 that are new count as all of them.
        self.assertEqual((told["length"], told["count"], told["bytes"]), (5, 20, 20 * MIB))

    def test_what_was_emptied_or_replaced_stays_as_it_was_told(self):
        cache = Cache()
        self.after_a_look(cache)
        told = self.surveys.told
        cache.blocks = list(cache.blocks)
        self.fill(cache.blocks)
        self.assertFalse(self.recounts(), "another list")
        del cache
        gc.collect()
        self.assertFalse(self.recounts(), "gone")
        self.assertEqual(self.surveys.told, told)

    def test_what_is_emptied_and_filled_again_is_no_longer(self):
        cache = Cache()
        self.after_a_look(cache)
        old = list(cache.blocks)  # else the new ones may get the places of these
        cache.blocks.clear()
        self.fill(cache.blocks, 4 * NUMBER)
        self.assertFalse(self.recounts())
        del old

    def test_one_that_slides_is_told_as_long_over_the_time_that_went_by(self):
        window, cache = Cache(), Cache()
        self.fill(window.blocks)
        self.after_a_look(cache)
        self.fill(window.blocks)
        self.fill(cache.blocks)
        self.surveys._next = time.monotonic()
        self.look()
        self.surveys._next = float("inf")
        before = self.held("window.blocks")
        self.fill(cache.blocks)
        self.fill(window.blocks)
        del window.blocks[:NUMBER]
        for took, is_told in ((1e6, False), (1e-3, True)):
            before["over_ms"] = took  # to come
            self.assertTrue(self.recounts())
            after = self.held("window.blocks")
            self.assertEqual((after["bytes"], after["length"]), (before["bytes"], before["length"]))
            self.assertEqual(after["over_ms"] == self.held("cache.blocks")["over_ms"], is_told)

    def test_nothing_is_held_between_looks(self):
        cache = Cache()
        self.after_a_look(cache)
        self.fill(cache.blocks)
        self.assertTrue(self.recounts())
        gone = weakref.ref(cache)
        del cache
        self.assertIsNone(gone())

    def test_the_next_look_counts_from_what_it_finds(self):
        cache = Cache()
        self.after_a_look(cache)
        self.fill(cache.blocks)
        self.recounts()
        self.fill(cache.blocks)
        self.look()
        self.assertEqual(self.surveys._recounted, {})
        self.assertEqual(self.held("cache.blocks")["length"], 4 * NUMBER)

    def test_a_container_on_the_way_that_is_large_is_not_gone_through(self):
        way = recounts.Way([id(self), 2, 3], None, None, 1, 1)
        large = list(range(recounts.LARGE + 1))
        self.assertIsNone(recounts._container(way, {id(self): large}))
        self.assertIsNone(recounts._container(way, {}))


if __name__ == "__main__":
    unittest.main()
