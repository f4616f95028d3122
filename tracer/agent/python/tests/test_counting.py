"""Steps, budgets and the host heap."""

import contextlib
import math
import sys
import types
import unittest
from collections import OrderedDict

import torch
from gpumem_agent import hostheap
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.frameworks import torch_steps as steps_module
from gpumem_agent.frameworks.torch_steps import ALONE, LONGEST
from gpumem_agent.quiet import Quiet
from gpumem_agent.sampling import SHARE, STEP_CREDIT, STEP_SECONDS, Budget, Pace, StepPace
from gpumem_agent.steps import Steps
from torch.optim import optimizer as module


class StepsTest(unittest.TestCase):
    def count(self, identities):
        steps, slow = Steps(), Steps()
        for identity in identities:
            slow.optimizer(identity)
            if steps.plain == identity:  # as PyTorch's hook does
                steps.passed()
            else:
                steps.optimizer(identity)
            self.assertEqual(steps.count, slow.count)
        return steps.count

    def test_one_optimizer_counts_each_step(self):
        self.assertEqual(self.count("aaaa"), 4)

    def test_two_optimizers_in_turn_count_rounds(self):
        self.assertEqual(self.count("abababab"), 4)

    def test_another_optimizer_takes_over_when_the_first_is_gone(self):
        self.assertEqual(self.count("aaa" + "bbbb"), 3 + 3)

    def test_a_second_optimizer_at_every_fifth_step_adds_nothing(self):
        self.assertEqual(self.count("aaaaab" * 4), 20)

    def test_the_users_steps_replace_those_of_optimizers(self):
        steps = Steps()
        steps.optimizer(1)
        steps.user()
        self.assertIsNone(steps.plain)
        steps.optimizer(1)
        steps.user()
        self.assertEqual(steps.count, 2)
        steps.user(40)
        self.assertEqual(steps.count, 40)


class HookTest(unittest.TestCase):
    """The hook after each step of PyTorch's optimizers."""

    def setUp(self):
        self.steps, self.told = Steps(), []
        self.next_due = self.steps.due = math.inf
        module._global_optimizer_post_hooks = OrderedDict()
        process = types.SimpleNamespace(
            steps=self.steps, optimizer_step=self.tell, quiet=lambda: Quiet(self)
        )
        self.hook = adapter.open_framework(torch, process)._step_hook(module)
        self.hook.arm()
        self.optimizer = module.Optimizer()

    def tell(self, optimizer, is_counted):
        self.told.append(is_counted)
        self.steps.due = max(self.steps.due, self.next_due)
        if not is_counted:
            self.steps.optimizer(id(optimizer))

    def failed(self, error):
        raise error

    def step(self, times=1):
        for _ in range(times):
            self.optimizer.step()

    def past(self):
        """Steps so often that the hook knows what it deals with."""
        self.step(ALONE + 1)
        self.told.clear()

    def test_between_samples_a_step_is_counted_and_nothing_else(self):
        self.step(10)
        self.assertEqual((self.steps.count, self.told), (10, [False]))

    def test_a_step_at_which_a_sample_is_due_brings_it_along(self):
        self.next_due = self.steps.due = 0
        self.step(3)
        self.assertEqual((self.steps.count, self.told), (3, [False, True, True]))

    def test_steps_without_the_hook_are_counted_each(self):
        for steps in range(1, ALONE + 5 * LONGEST):
            self.step()
            self.assertEqual(self.steps.count, steps)
        with patched(self.hook, "_hook", None):  # which nobody calls in a run
            self.step(3)
        self.assertEqual(self.steps.count, steps + 3)

    def test_a_hook_that_is_taken_out_leaves_what_was_there_before(self):
        for steps in (1, 2 * ALONE):  # with PyTorch's dictionary, and with one of ours
            self.setUp()
            self.step(steps)
            self.assertTrue(self.hook.disarm())
            hooks = module._global_optimizer_post_hooks
            self.assertEqual((type(hooks), len(hooks)), (OrderedDict, 0))
            counted = self.steps.count
            self.step(3)
            self.assertEqual(self.steps.count, counted)

    def test_hooks_of_others_outlive_ours_and_can_be_removed(self):
        self.past()
        seen = []
        handle = module.register_optimizer_step_post_hook(lambda *_: seen.append(1))
        self.assertTrue(self.hook.disarm())
        self.step(2)
        self.assertEqual((len(seen), len(module._global_optimizer_post_hooks)), (2, 1))
        handle.remove()
        self.step()
        self.assertEqual((len(seen), len(module._global_optimizer_post_hooks)), (2, 0))

    def test_at_a_step_no_hook_is_taken_out_under_the_program(self):
        self.hook.disarm()
        outcome = []
        module.register_optimizer_step_post_hook(lambda *_: outcome.append(self.hook.disarm()))
        self.hook.arm()
        with patched(steps_module, "TRIES", 3):
            self.step()
        self.assertEqual(outcome, [False])

    def test_a_sample_comes_a_run_after_it_is_due_at_the_latest(self):
        self.past()
        self.step(3 * LONGEST)
        self.steps.due = 0
        self.step(LONGEST + 1)
        self.assertEqual(self.told[:1], [True])
        self.assertEqual(self.steps.count, ALONE + 1 + 4 * LONGEST + 1)

    def test_the_dictionary_seems_as_long_as_before(self):
        self.assertEqual(len(module._global_optimizer_post_hooks), 1)
        self.past()
        self.assertEqual(len(module._global_optimizer_post_hooks), 1)
        module.register_optimizer_step_post_hook(lambda *args: None)
        self.assertEqual(len(module._global_optimizer_post_hooks), 2)

    def test_hooks_of_others_are_called_at_each_step(self):
        self.past()
        called = []
        module.register_optimizer_step_post_hook(lambda *args: called.append(len(args)))
        self.step(3 * LONGEST)
        self.assertEqual(called, [3] * 3 * LONGEST)

    def test_the_dictionary_stays_where_others_have_a_hook_in_it(self):
        module.register_optimizer_step_post_hook(lambda *args: None)
        before = module._global_optimizer_post_hooks
        self.step(ALONE + 5)
        self.assertIs(module._global_optimizer_post_hooks, before)
        self.assertEqual(self.steps.count, ALONE + 5)

    def test_a_second_optimizer_that_comes_late_is_noticed_at_the_next_sample(self):
        self.past()
        other = module.Optimizer()
        for _ in range(LONGEST):
            self.step()
            other.step()
        self.steps.due = 0
        for _ in range(LONGEST):
            self.step()
            other.step()
        before = self.steps.count
        for _ in range(10):
            self.step()
            other.step()
        self.assertEqual(self.steps.count, before + 10)

    def test_what_a_signal_raises_in_between_ends_neither_counting_nor_training(self):
        self.past()
        with patched(self.hook, "_begin_run", interrupt):
            with self.assertRaises(KeyboardInterrupt):
                self.step(3 * LONGEST)
        before = self.steps.count
        self.step(3 * LONGEST)
        self.assertEqual(self.steps.count, before + 3 * LONGEST)

    def test_a_forked_child_counts_its_own_from_the_middle_of_a_run(self):
        self.past()
        self.step(LONGEST // 2)
        self.steps.restart()
        self.assertEqual(self.steps.count, 0)
        self.step(3 * LONGEST)
        self.assertEqual(self.steps.count, 3 * LONGEST)

    def test_the_users_steps_replace_those_of_a_run(self):
        self.past()
        self.step(3)
        self.steps.user()
        self.step(3 * LONGEST)
        self.assertEqual(self.steps.count, 1)


def interrupt(*_):
    raise KeyboardInterrupt


@contextlib.contextmanager
def patched(thing, name, value):
    """Sets an attribute of the instance for a while."""
    own = vars(thing).get(name)
    setattr(thing, name, value)
    try:
        yield
    finally:
        if own is None:
            delattr(thing, name)
        else:
            setattr(thing, name, own)


class BudgetTest(unittest.TestCase):
    def test_work_waits_until_its_share_of_the_time_is_back(self):
        budget = Budget(share=0.01)
        start = budget._last
        budget.spent(start, 0.001)
        self.assertFalse(budget.ready(start + 0.05))
        self.assertTrue(budget.ready(start + 0.11))
        budget.spent(start + 0.05, 0.001)  # of a debt that was half paid
        self.assertFalse(budget.ready(start + 0.19))
        self.assertTrue(budget.ready(start + 0.21))

    def test_an_interval_holds_however_cheap_the_work(self):
        budget = Budget(share=0.5, least=0.5)
        self.assertFalse(budget.ready(budget._last + 0.4))
        self.assertTrue(budget.ready(budget._last + 0.6))


class PaceTest(unittest.TestCase):
    def test_cheap_samples_come_at_the_interval_that_was_asked_for(self):
        pace = Pace(0.05, SHARE)
        self.assertEqual({pace.interval(0.00005) for _ in range(20)}, {0.05})

    def test_one_dear_sample_among_cheap_ones_changes_nothing(self):
        pace = Pace(0.05, SHARE)
        costs = [0.5] + [0.00005] * 3 + [0.5] + [0.00005] * 3
        self.assertLess(max(pace.interval(cost) for cost in costs), 0.07)

    def test_dear_samples_come_as_rarely_as_their_share_demands(self):
        pace = Pace(0.05, SHARE)
        intervals = [pace.interval(0.003) for _ in range(30)]
        self.assertEqual(intervals, sorted(intervals), "step by step")
        self.assertAlmostEqual(intervals[-1], 0.003 / SHARE)

    def test_steps_bring_samples_along_until_the_credit_is_spent(self):
        pace = StepPace(0.05)
        intervals = [pace.interval(STEP_CREDIT / 3) for _ in range(2)]
        self.assertEqual(intervals, [STEP_SECONDS] * 2)
        self.assertEqual(pace.interval(0.00001), STEP_SECONDS)
        pace.interval(STEP_CREDIT)
        self.assertEqual(pace.interval(0.00001), 0.05)


@contextlib.contextmanager
def somebody_before_the_allocator():
    """Objects come from the C heap, and go back to where they came from."""
    import ctypes  # not every interpreter here has it

    raw, objects, changed = (ctypes.c_void_p * 5)(), (ctypes.c_void_p * 5)(), (ctypes.c_void_p * 5)()
    ctypes.pythonapi.PyMem_GetAllocator(0, raw)
    ctypes.pythonapi.PyMem_GetAllocator(2, objects)
    changed[:] = objects[:]
    changed[1] = raw[1]
    ctypes.pythonapi.PyMem_SetAllocator(2, changed)
    try:
        yield
    finally:
        ctypes.pythonapi.PyMem_SetAllocator(2, objects)


class HeapTest(unittest.TestCase):
    def setUp(self):
        self.heap = hostheap.open_heap()

    @unittest.skipUnless(sys.platform == "linux", "glibc's figures")
    def test_the_c_heap_and_pythons_own_both_count(self):
        before = self.heap.bytes()
        big = bytearray(16 << 20)
        with_big = self.heap.bytes()
        small = [{"a": i} for i in range(100000)]
        with_small = self.heap.bytes()
        self.assertGreaterEqual(with_big - before, len(big))
        self.assertGreaterEqual(with_small - with_big, 100000 * 100)
        del big, small
        self.assertLess(self.heap.bytes() - before, 1 << 20)

    @unittest.skipUnless(sys.platform == "linux", "glibc's figures")
    def test_small_objects_are_unknown_while_somebody_stands_before_their_allocator(self):
        before = self.heap.bytes()
        with somebody_before_the_allocator():
            big = bytearray(16 << 20)
            self.assertIsNone(self.heap.bytes())
            self.assertGreaterEqual(self.heap.about - before, len(big))
        self.assertGreaterEqual(self.heap.bytes() - before, len(big))

    @unittest.skipUnless(sys.platform == "linux", "glibc's malloc_trim")
    def test_trim_tells_what_it_gave_back(self):
        self.assertGreaterEqual(self.heap.trim(), 0)


if __name__ == "__main__":
    unittest.main()
