"""Modules of C are not asked what they refer to: see atomic.no_modules."""

import _asyncio
import asyncio
import gc
import types
import unittest
from unittest import mock

from gpumem_agent import atomic
from gpumem_agent.holders import living
from gpumem_agent.holders.upward import Walk


class ModulesOfCTest(unittest.TestCase):
    def setUp(self):
        async def waits():
            loop = asyncio.get_running_loop()
            for _ in range(3):
                future = loop.create_future()
                loop.call_soon(future.set_result, 1)
                await future

        asyncio.run(waits())  # leaves freed objects to be used again
        living.references((), (set,))
        gc.collect()  # which runs in a circle where they were freed once more
        self.asked = []
        original = gc.get_referents

        def asks(*items):
            self.asked += [item for item in items if type(item) is types.ModuleType]
            return original(*[item for item in items if type(item) is not types.ModuleType])

        patch = mock.patch.object(gc, "get_referents", asks)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_look_for_what_the_collector_does_not_track_passes_them_over(self):
        living.references((), (set,))
        self.assertEqual(self.asked, [])

    def test_a_walk_up_to_a_module_does(self):
        walk = Walk(float("inf"))
        walk.climb([vars(_asyncio)])
        self.assertEqual(self.asked, [])

    def test_a_module_refers_to_its_namespace(self):
        self.assertEqual([id(o) for o in atomic.referents(_asyncio)], [id(vars(_asyncio))])
        pair = (1, "a")
        self.assertEqual(atomic.referents(pair), gc.get_referents(pair))
        self.assertEqual(self.asked, [])


if __name__ == "__main__":
    unittest.main()
