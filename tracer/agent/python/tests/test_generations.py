"""Of what age the blocks of an allocator are."""

import itertools
import types
import unittest

import torch
import acted
from gpumem_agent import generations
from gpumem_agent.frameworks import Framework, torch_blocks
from gpumem_agent.frameworks import torch as adapter


class Allocator(Framework):
    """A framework whose blocks a test sets."""

    now, pools = (), ()

    def active(self):
        return True

    def blocks(self, most):
        return (self.now, self.pools) if self.now is not None else None


class GenerationsTest(unittest.TestCase):
    def setUp(self):
        self.framework = Allocator()
        self.steps = acted.Steps(False)
        self.process = types.SimpleNamespace(frameworks=[self.framework], steps=self.steps)
        self.looks = generations.Generations()
        self.looks.begin(100.0)

    def at(self, seconds, *blocks):
        """What a look so many seconds after the device came to life finds, where these
        blocks live: bytes by generation."""
        self.framework.now = [(block, 512 * block) for block in blocks]
        told = self.looks.look(self.process, 100.0 + seconds, False)
        return [(g["bytes"] // 512, g["count"]) for g in told["generations"]]

    def test_each_generation_of_a_program_that_keeps_leaves_survivors(self):
        self.assertEqual(self.at(2, 1), [(1, 1)])
        self.assertEqual(self.at(3, 1, 2), [(1, 1), (2, 1)])
        self.assertEqual(self.at(4.5, 1, 2, 3, 4), [(1, 1), (2, 1), (7, 2)])

    def test_what_comes_and_goes_leaves_none(self):
        self.at(2, 1, 20, 21)
        self.assertEqual(self.at(3, 1, 30, 31), [(1, 1), (61, 2)])
        self.assertEqual(self.at(4.5, 1, 40), [(1, 1), (0, 0), (40, 1)])

    def test_a_block_that_is_free_at_a_look_has_ended_though_its_address_comes_again(self):
        self.at(2, 1, 7)
        self.at(3, 1)
        self.assertEqual(self.at(4.5, 1, 7), [(1, 1), (0, 0), (7, 1)])

    def test_a_look_is_due_at_half_as_much_again_of_the_age_of_the_one_before(self):
        self.assertEqual(self.looks.next, 102.0)
        self.at(2, 1)
        self.assertEqual(self.looks.next, 103.0)
        self.at(10, 1)
        self.assertEqual(self.looks.next, 115.0)

    def test_looks_take_no_more_than_their_share_of_the_time(self):
        self.looks._spent = generations.CREDIT + 0.1
        self.at(2, 1)
        self.assertGreaterEqual(self.looks.next, 100.0 + 0.1 / generations.SHARE)

    def test_a_program_with_steps_is_looked_at_where_one_ends(self):
        self.framework.now = [(1, 512)]
        self.steps.known = True
        self.assertIsNone(self.looks.look(self.process, 102.0, False))
        self.assertEqual(self.looks.next, 102.0, "the look is still due")
        self.assertIsNotNone(self.looks.look(self.process, 102.5, True))

    def test_many_generations_are_told_as_some_of_which_the_first_is_the_oldest(self):
        for number in range(generations.LENGTH + 3):
            found = self.at(2 + number, *range(1, number + 2))
        self.assertEqual(len(found), generations.LENGTH)
        self.assertEqual(found[:2], [(1 + 2 + 3 + 4, 4), (5, 1)])

    def test_a_look_tells_the_pools_where_there_are_several(self):
        self.framework.pools = [{"stream": 0}]
        self.framework.now = [("a", 512)]
        self.assertNotIn("pools", self.looks.look(self.process, 102.0, False))
        self.framework.pools = [{"stream": 0}, {"stream": 7}]
        told = self.looks.look(self.process, 104.0, False)
        self.assertEqual(told["pools"], [{"stream": 0}, {"stream": 7}])

    def test_a_framework_that_cannot_tell_is_asked_again_later(self):
        self.framework.now = None
        self.assertIsNone(self.looks.look(self.process, 102.0, False))
        self.assertEqual(self.looks.next, 103.0)


class TorchBlocksTest(unittest.TestCase):
    def test_the_pools_of_all_streams_are_told(self):
        roles = types.SimpleNamespace(by_address={}, module=lambda address: None)
        segments = []
        for stream, kind in itertools.product(range(32), ("small", "large")):
            address = len(segments) << 21
            blocks = [{"address": address, "size": 1 << 20, "state": "inactive"}]
            told = {"address": address, "stream": stream, "segment_type": kind, "total_size": 1 << 20}
            segments.append(dict(told, device=0, blocks=blocks))
        pools = torch_blocks.Layout(segments, 0, roles).told()
        self.assertEqual(sum(pool["idle_bytes"] for pool in pools), 64 << 20)

    def test_pools_are_those_of_streams_on_the_device_with_most(self):
        def segment(device, stream, *blocks):
            size = sum(size for _, size in blocks)
            told = {"device": device, "stream": stream, "address": 1 << 30, "total_size": size}
            return dict(told, blocks=[dict(zip(("state", "size"), b)) for b in blocks])

        live, idle = "active_allocated", "inactive"
        found = torch_blocks.pools(
            [
                segment(0, 0, (live, 512), (idle, 1024)),
                segment(0, 9, (idle, 4096)),
                dict(segment(0, 9, (idle, 512)), segment_type="small"),
                dict(segment(0, 9, (live, 256)), segment_pool_id=(0, 1)),
                segment(1, 5, (live, 512)),
            ]
        )
        told = [(p["stream"], p["live_bytes"], p["idle_bytes"], "private" in p) for p in found]
        self.assertEqual(told, [(9, 0, 4608, False), (0, 512, 1024, False), (9, 256, 0, True)])
        self.assertEqual(torch_blocks.pools([]), [])

    def test_blocks_that_the_program_has_are_told_by_device_place_and_size(self):
        def segment(device, *blocks):
            return {"device": device, "address": 1 << 30, "blocks": [dict(zip(("state", "size"), b)) for b in blocks]}

        live, idle, waiting = "active_allocated", "inactive", "active_pending_free"
        found = torch_blocks.handed_out(
            [segment(0, (live, 512), (idle, 1024), (waiting, 512), (live, 2048)), segment(1, (live, 512))]
        )
        self.assertEqual([size for _, size in found], [512, 2048, 512])
        self.assertEqual(len({block for block, _ in found}), 3)
        again = torch_blocks.handed_out([segment(0, (live, 512)), segment(1, (live, 1024))])
        self.assertEqual([block in {b for b, _ in found} for block, _ in again], [True, False])

    def test_the_blocks_of_a_device_are_those_of_its_tensors(self):
        process = types.SimpleNamespace(sites_wanted=False, late=None)
        framework = adapter.open_framework(torch, process)
        kept = torch.empty(4096)
        self.assertTrue(framework.active())
        before = dict(framework.blocks(100_000)[0])
        more = torch.empty(8192)
        after = dict(framework.blocks(100_000)[0])
        self.assertEqual(sorted(size for b, size in after.items() if b not in before), [8192])
        self.assertIsNone(framework.blocks(1), "more than were asked for")
        del kept, more
