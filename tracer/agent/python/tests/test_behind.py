"""Graphs below any name: what has more operations behind it at each look."""

import sys
import threading
import time
import types
import unittest
import unittest.mock

import torch
from gpumem_agent import errands
from gpumem_agent.errands import Errands
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.holders import behind
from gpumem_agent.holders.behind import LEAST, MORE, Behind
from gpumem_agent.surveys import Surveys

MIB = 1 << 20


class Unarmed:
    sites_wanted = False


def loss():
    return torch.operation("Mean", torch.operation("Linear", torch.empty(512)))


def part_of(whole):
    """A view of an output, whose own operation nobody is to ask for."""
    part = torch.empty(512)
    part._base, part._is_view = whole, lambda: True
    part.requires_grad, part.is_leaf = True, False
    return part


def ticking(times):
    """A clock that says that time is up after it was asked so many times, as it is for each operation."""
    asked = iter(range(times))
    return lambda: 0.0 if next(asked, None) is not None else 1e9


class BehindTest(unittest.TestCase):
    def setUp(self):
        torch.empty(512)  # the device lives
        self.framework = adapter.open_framework(torch, Unarmed)
        self.behind = Behind()
        patient = unittest.mock.patch.multiple(behind, SECONDS=60, PART=60, THREADS=100)
        patient.start()
        self.addCleanup(patient.stop)

    def keep(self, **names):
        globals().update(names)
        kept = list(names)
        self.addCleanup(lambda: [globals().pop(n, None) for n in kept])

    def look(self, explained=0, heap=None):
        """What a look tells: {path: bytes}."""
        self.behind.look([self.framework], (explained, 0), heap)
        return {h["path"].replace(__name__, "M"): h["bytes"] for h in self.behind.told}

    def test_a_total_in_an_attribute_keeps_the_graph_of_each_step(self):
        ranker = types.SimpleNamespace(loss=loss())
        self.keep(ranker=ranker)
        del ranker
        self.look()
        for _ in range(LEAST):
            globals()["ranker"].loss = torch.operation("Add", globals()["ranker"].loss, loss())
        mean = torch.operation("Div", globals()["ranker"].loss)
        self.keep(spare=torch.empty(3 * MIB))  # what they saved, for the stand-in
        ((path, size),) = self.look().items()
        self.assertEqual(path, "M.ranker.loss: autograd graph of Add outputs")
        self.assertGreaterEqual(size, 3 * MIB)
        self.assertGreater(self.behind.told[0]["over_ms"], 0)
        self.assertEqual(self.look(), {}, "nothing came since")
        del mean

    def test_what_an_object_has_is_told_by_it_though_a_variable_has_it_too(self):
        ranker = types.SimpleNamespace(loss=loss())
        left = ranker.loss
        self.look()
        for _ in range(LEAST):
            left = ranker.loss = torch.operation("Add", ranker.loss, loss())
        self.keep(spare=torch.empty(3 * MIB))
        (path,) = self.look()
        self.assertTrue(path.endswith("local ranker.loss: autograd graph of Add outputs"), path)
        del left

    def test_of_a_part_of_an_output_the_graph_behind_the_whole_is_told(self):
        self.keep(memory=part_of(loss()))
        self.look()
        for _ in range(LEAST):
            self.keep(memory=part_of(torch.operation("Cat", globals()["memory"]._base, loss())))
        self.keep(spare=torch.empty(3 * MIB))
        (path,) = self.look()
        self.assertEqual(path, "M.memory: autograd graph of Cat outputs")

    def test_what_is_made_from_a_state_does_not_stand_for_it_where_there_is_no_time_for_the_state(self):
        observer, whole, told = types.SimpleNamespace(gait=loss()), behind._seen, []
        estimate = torch.operation("Addmm", observer.gait)
        self.look()

        def in_time(owner, array, name, path, *more):
            late = len(told) == 1 and path.endswith("observer.gait")
            return None if late else whole(owner, array, name, path, *more)

        with unittest.mock.patch.object(behind, "_seen", in_time):
            for spare in ("one", "two"):
                for _ in range(LEAST):
                    observer.gait = torch.operation("GruCell", observer.gait, loss())
                estimate = torch.operation("Addmm", observer.gait)
                self.keep(**{spare: torch.empty(3 * MIB)})
                told.append(*self.look())
        self.assertTrue(told[0].endswith("local observer.gait: autograd graph of GruCell outputs"), told)
        self.assertEqual(told[1], told[0])
        del estimate

    def test_a_state_in_a_tuple_is_told_by_the_tuple(self):
        self.keep(state=(loss(), loss()))
        self.look()
        for _ in range(LEAST):
            self.keep(state=tuple(torch.operation("Cell", part) for part in globals()["state"]))
        self.keep(spare=torch.empty(3 * MIB))
        self.assertEqual(list(self.look()), ["tuple M.state: autograd graph of Cell outputs"])

    def grow(self, times):
        """More of a total, by so many times as many operations, and bytes."""
        total = globals().pop("total")
        for _ in range(times * LEAST):
            total = torch.operation("Add", total, loss())
        self.keep(total=total)

    def test_what_was_told_stands_at_one_look_that_does_not_see_it(self):
        told = ["M.total: autograd graph of Add outputs"]
        self.keep(total=loss())
        self.look()
        self.grow(1)
        self.keep(spare=torch.empty(3 * MIB))
        self.assertEqual(list(self.look()), told)
        total = globals().pop("total")
        for size, expected in (6, told), (9, []):
            self.keep(spare=torch.empty(size * MIB))
            self.assertEqual(list(self.look()), expected)
        self.keep(total=total)
        del total
        self.look()
        self.grow(2)
        self.keep(spare=torch.empty(12 * MIB))
        self.assertEqual(list(self.look()), told)
        total = globals().pop("total")
        self.keep(spare=torch.empty(15 * MIB))
        self.assertEqual(list(self.look()), told)
        self.keep(total=total)
        del total
        self.grow(4)
        self.keep(spare=torch.empty(18 * MIB))
        ((path, size),) = self.look().items()
        self.assertEqual([path], told)
        self.assertLess(size, 15 * MIB, "since the last look")
        self.keep(total=loss(), spare=torch.empty(30 * MIB))
        self.assertEqual(self.look(), {}, "it was cut")

    def grow_both(self, made):
        """Has a mean and a spread grow, of which the second is made from both; returns what
        a look tells."""
        for _ in range(LEAST):
            mean = torch.operation("Lerp", globals()["mean"], loss())
            spread = made(globals()["spread"], mean)
            spread.grad_fn.__class__ = self.saving
            self.keep(mean=mean, spread=spread)
        self.keep(spare=torch.empty((3 + self.framework.live_bytes() // MIB) * MIB))
        return list(self.look())

    def test_of_two_that_grow_alike_the_one_that_saves_more_is_told(self):
        self.keep(mean=loss(), spread=loss())
        self.saving = type("Saving", (type(globals()["mean"].grad_fn),), {"_raw_saved_self": None})
        self.look()

        def apart(spread, _):
            return torch.operation("Lerp", spread, loss())

        told = ["M.spread: autograd graph of Lerp outputs"]
        self.assertEqual(self.grow_both(apart), told)
        with unittest.mock.patch.object(behind, "_fullest", lambda best, *_: best):
            self.assertEqual(self.grow_both(apart), told, "it is known, if there is no time")

    def test_what_is_made_from_another_that_grows_is_not_told_for_what_it_saves(self):
        self.keep(mean=loss(), spread=loss())
        self.saving = type("Saving", (type(globals()["mean"].grad_fn),), {"_raw_saved_self": None})
        self.look()
        told = self.grow_both(lambda spread, mean: torch.operation("Lerp", mean, loss()))
        self.assertEqual(told, ["M.mean: autograd graph of Lerp outputs"])

    def test_operations_that_a_backward_pass_leaves_are_on_the_host(self):
        self.keep(norm=types.SimpleNamespace(mean=loss()))
        self.look(heap=100 * MIB)
        for _ in range(LEAST):
            globals()["norm"].mean = torch.operation("Add", globals()["norm"].mean, loss())
        gained = 103 * MIB + self.framework.live_bytes()
        with unittest.mock.patch.object(self.framework, "live_bytes", lambda: 512):
            self.look(heap=100 * MIB)
            for _ in range(LEAST):
                globals()["norm"].mean = torch.operation("Add", globals()["norm"].mean, loss())
            ((path, size),) = self.look(heap=gained).items()
        self.assertEqual(path, "M.norm.mean: autograd graph of Add outputs")
        self.assertEqual(size, gained - 100 * MIB)
        self.assertTrue(self.behind.told[0]["host"])

    def test_what_a_layer_carries_on_is_told_by_its_attribute(self):
        layers = type("ModuleList", (), {"__module__": "torch.nn.modules.container"})()
        layers._modules = {str(n): types.SimpleNamespace(cache=loss(), scale=torch.empty(512)) for n in range(3)}
        self.keep(layers=layers)
        self.look()
        for _ in range(LEAST):
            for layer in layers._modules.values():
                layer.cache = torch.operation("Add", layer.cache, loss())
        self.keep(spare=torch.empty(3 * MIB))
        (path,) = self.look()
        self.assertEqual(path, "ModuleList M.layers[…].cache: autograd graph of Add outputs")

    def test_outputs_in_a_list_that_gets_longer(self):
        self.keep(history=[loss() for _ in range(20)])
        self.look()
        globals()["history"].extend(loss() for _ in range(MORE))
        self.keep(spare=torch.empty(3 * MIB))
        self.assertEqual(self.look(), {}, "few operations behind each")
        with unittest.mock.patch.object(behind, "FEW", 2):
            globals()["history"].extend(loss() for _ in range(MORE))
            self.keep(more=torch.empty(3 * MIB))
            ((path, size),) = self.look().items()
            self.assertEqual(path, "list M.history: autograd graph of Mean outputs")
            self.assertGreaterEqual(size, 3 * MIB)
            self.keep(third=torch.empty(3 * MIB))
            self.assertEqual(self.look(), {}, "the list did not get longer")

    def test_losses_of_single_steps_and_what_others_hold_are_not_told(self):
        self.keep(last=loss(), kept=[torch.empty(MIB)])
        self.look()
        self.keep(last=loss())
        globals()["kept"].append(torch.empty(8 * MIB))
        self.assertEqual(self.look(), {})
        total = loss()
        self.keep(total=total)
        self.look()
        for _ in range(LEAST):
            total = torch.operation("Add", total, loss())
        self.keep(total=total)
        globals()["kept"].append(torch.empty(8 * MIB))
        self.assertEqual(self.look(explained=8 * MIB), {})
        del total

    def test_a_program_with_steps_is_looked_at_at_its_next_one(self):
        process = types.SimpleNamespace(
            frameworks=[self.framework], sites_wanted=False, idle=None, heap_now=lambda: None
        )
        process.held = lambda: (None, None)
        surveys, trainer = Surveys(), types.SimpleNamespace(memory=loss())
        surveys.take(process, process.frameworks)
        self.keep(trainer=trainer)
        asked, answered = range(20, 20 + 4 * LEAST, 2 * LEAST), []
        for step in range(20, 20 + 4 * LEAST):
            out = trainer.memory = torch.operation("Cell", trainer.memory)
            last = torch.operation("Mean", out)
            if step in asked:
                surveys.look_now(process, time.monotonic() + 20)
                self.assertTrue(surveys.wants_below(process))
                surveys.graphs.below_next()
                self.keep(spare=torch.empty((step + 1) * MIB))
                self.assertTrue(surveys.wants(step))
            if surveys.look_at_graphs(process, step) and step in asked:
                answered.append([h["path"].replace(__name__, "M") for h in surveys.told])
        self.assertEqual(answered, [[], ["M.trainer.memory: autograd graph of Cell outputs"]])
        del last, out, trainer
        surveys._next, surveys.allowance.free = float("inf"), 0
        surveys.look(process, time.monotonic())
        self.assertFalse(surveys.wants_below(process), "after a question to what is told")

    def test_nothing_is_looked_at_beside_other_threads(self):
        with unittest.mock.patch.object(behind, "THREADS", 0):
            self.keep(total=loss())
            self.look()
            self.assertEqual(self.behind._before, {})

    def test_chains_that_are_too_long_to_be_counted_lead_back_to_the_look_before(self):
        self.keep(total=loss(), last=loss())
        with unittest.mock.patch.object(behind, "MOST", 1):
            self.look()
            self.assertEqual([seen.is_whole for seen in self.behind._before.values()], [False, False])
            self.keep(total=torch.operation("Add", globals()["total"]), last=loss())
            self.keep(spare=torch.empty(3 * MIB))
            self.assertEqual(list(self.look()), ["M.total: autograd graph of Add outputs"])
            self.keep(total=loss(), spare=torch.empty(9 * MIB))
            self.assertEqual(self.look(), {}, "it was cut")

    def test_a_chain_that_there_is_no_time_to_go_back_along_leads_back_half_of_the_way(self):
        def grow(number):
            total = globals()["total"]
            for _ in range(number):
                total = torch.operation("Add", total)
            self.keep(total=total)

        self.keep(total=loss())
        with unittest.mock.patch.multiple(behind, MOST=1):
            self.look()
            for size, far in ((50, 30), (100, 18)):  # operations that there is time for
                grow(40)
                self.keep(spare=torch.empty(size * MIB))
                with unittest.mock.patch.object(behind.own, "thread_time", ticking(far)):
                    self.assertEqual(list(self.look()), ["M.total: autograd graph of Add outputs"], far)
            grow(40)
            self.keep(spare=torch.empty(200 * MIB))
            with unittest.mock.patch.object(behind.own, "thread_time", ticking(12)):
                self.assertEqual(self.look(), {}, "not seen to grow at two looks")

    def test_chains_that_are_not_numbered_and_grew_before_they_were_too_long(self):
        self.framework.graph = lambda array: None
        self.keep(total=loss())
        self.look()
        for _ in range(LEAST):
            self.keep(total=torch.operation("Add", globals()["total"]))
        self.keep(spare=torch.empty(3 * MIB))
        with unittest.mock.patch.object(behind, "MOST", LEAST + 2):
            for size in (3, 6):
                self.assertEqual(list(self.look()), ["M.total: autograd graph of Add outputs"])
                self.keep(total=torch.operation("Add", globals()["total"]), spare=torch.empty(2 * size * MIB))
            self.look()
            self.keep(total=loss(), spare=torch.empty(20 * MIB))
            self.assertEqual(self.look(), {}, "it was cut")


class ErrandsTest(unittest.TestCase):
    def setUp(self):
        self.errands, self.done = Errands(), []
        if not self.hand_over(lambda: None):
            self.skipTest("this interpreter has no pending calls for us")
        self.wait(lambda: self.errands._last._is_done)

    def hand_over(self, work):
        """Hands it over on another thread."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.errands.hand_over(work)))
        thread.start()
        thread.join()
        return answers[0]

    def wait(self, ready):
        end = time.monotonic() + 20
        while not ready() and time.monotonic() < end:
            time.sleep(0.001)
        self.assertTrue(ready())

    def test_work_is_done_on_the_main_thread_once(self):
        self.hand_over(lambda: self.done.append(threading.current_thread()))
        self.wait(lambda: self.done)
        self.assertEqual(self.done, [threading.main_thread()])

    def test_what_a_signal_handler_raises_meanwhile_reaches_the_program(self):
        def interrupted():
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.hand_over(interrupted)
            self.wait(lambda: False)

    def test_none_is_done_where_a_debugger_or_a_profiler_is_told_of_calls(self):
        before = sys.getprofile()
        sys.setprofile(lambda *_: None)
        self.addCleanup(sys.setprofile, before)
        self.hand_over(lambda: self.done.append(1))
        self.wait(lambda: self.errands._last._is_done)
        self.assertEqual(self.done, [])

    def test_none_is_handed_over_beside_a_compiler_of_frames(self):
        frames = types.ModuleType("frames")
        modules = {errands.COMPILER: types.ModuleType("compiler"), errands.COMPILER + ".eval_frame": frames}
        with unittest.mock.patch.dict(sys.modules, modules):
            self.assertFalse(self.hand_over(lambda: None), "of a version that tells nothing")
            frames.cached_backends = {1: None, 2: print}
            self.assertFalse(self.hand_over(lambda: None))
            frames.cached_backends = {1: None}  # as an optimizer leaves it
            self.hand_over(lambda: self.done.append(1))
            self.wait(lambda: self.done)


if __name__ == "__main__":
    unittest.main()
