"""Looks at a program that runs on: what they find, and that they leave no trace."""

import collections
import concurrent.futures
import functools
import gc
import itertools
import operator
import os
import queue
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import types
import unittest
import unittest.mock
import weakref
import zlib

import torch
from gpumem_agent import atomic, mappings, sampling
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.holders import downward, ending, fillers, following, kinds, levels, living, naming, opaque, running, variables
from gpumem_agent.surveys import Surveys

MIB = 1 << 20
BLOB = 200_000


class Unarmed:
    sites_wanted = False


class Trainer:
    shared = []

    def keep(self, wait):
        self.kept = [torch.empty(MIB) for _ in range(3)]
        batches = [torch.empty(MIB) for _ in range(2)]
        wait()
        del batches


def library_of(source, **names):
    """The names of a module that is installed with pip."""
    file = "/usr/lib/python3/site-packages/library.py"
    exec(compile(textwrap.dedent(source), file, "exec"), names)
    return names


def hashed():
    """A class of a metaclass whose hash is code of the program's. While there is one, types are told by key."""

    class Hashed(type):
        asked = 0

        def __hash__(cls):
            Hashed.asked += 1
            return 1

    class Odd(metaclass=Hashed):
        pass

    return Odd


class Texture(struct.Struct):
    """Python's, made from one of C."""

    def bind(self):
        pass


class Running:
    """A function of another thread that stands in its body."""

    def __init__(self, body):
        self._ready, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=body, args=(self.wait,))
        self._thread.start()
        self._ready.wait(30)

    def wait(self):
        self._ready.set()
        self._done.wait(30)

    def end(self):
        self._done.set()
        self._thread.join()


class Probe:
    """Belongs to the program: its module is no library."""

    def __init__(self):
        self.seen = [torch.empty(MIB)]

    def note(self):
        pass


class LooksTest(unittest.TestCase):
    def setUp(self):
        torch.empty(512)  # the device lives
        self.process = types.SimpleNamespace(
            frameworks=[adapter.open_framework(torch, Unarmed)],
            sites_wanted=False,
            held=lambda: (None, None), idle=None, heap_now=lambda: None,
        )
        self.surveys = Surveys()
        self.look()

    def look(self):
        if self.surveys._register is None:
            self.surveys._begun = time.monotonic()  # each note is old enough on any machine
        self.assertTrue(self.surveys.look_now(self.process, time.monotonic() + 20))
        return {h["path"]: (h["bytes"], h["count"]) for h in self.surveys.told}

    def keep(self, **names):
        globals().update(names)
        self.addCleanup(lambda: [globals().pop(n, None) for n in names])

    def path(self, text):
        return text.replace("M.", "%s." % __name__)

    def test_a_look_sets_off_no_collections_of_garbage(self):
        kinds = self.process.frameworks[0].types()
        for is_on in (True, False):
            (gc.enable if is_on else gc.disable)()
            self.addCleanup(gc.enable)
            gc.collect()
            before = [stats["collections"] for stats in gc.get_stats()]
            downward.Reach(kinds, nested=(Trainer,))
            made = [stats["collections"] - n for stats, n in zip(gc.get_stats(), before)]
            self.assertEqual(gc.isenabled(), is_on)
            self.assertLessEqual(sum(made), 2 * is_on, made)

    def test_early_looks_make_do_with_the_generators_of_the_survey(self):
        def rows():
            kept = []
            while True:
                kept.append(torch.empty(MIB))
                yield

        with unittest.mock.patch.object(living, "generators", side_effect=living.generators) as asked:
            for number, _ in enumerate(rows()):
                if number == 3:
                    self.surveys.take(self.process, self.process.frameworks)
                if number == 20:
                    told = self.look()
                    break
        self.assertEqual(told, {"list rows() local kept": (17 * MIB, 17)})
        asked.assert_not_called()

    def test_one_array_that_is_longer_at_every_look_is_told(self):
        self.keep(rows=None, batch=None)
        for sizes in ((10, 11, 12, 13), (1, 2, 3)):
            for size, other in zip(sizes, (3, 5, 4, 6)):
                globals().update(rows=torch.empty(size * MIB), batch=torch.empty(other * MIB))
                told = self.look()
                if size != sizes[-1]:
                    self.assertEqual(told, {})
            self.assertEqual(told, {self.path("M.rows"): (sizes[-1] * MIB, 1)})
            globals().update(rows=None, batch=None)
            self.look()

    def test_an_array_that_is_put_in_the_place_of_another_at_each_moment_is_told(self):
        trainer, size = Trainer(), 1
        self.keep(trainer=trainer)
        del trainer
        described = running._described

        def later(*args):
            """The look has met an array, which the program then replaces."""
            globals()["trainer"].seen = torch.empty(size * MIB)
            return described(*args)

        for size in (1, 2, 4):
            globals()["trainer"].seen = torch.empty(size * MIB)
            with unittest.mock.patch.object(running, "_described", later):
                told = self.look()
        self.assertEqual(told, {self.path("M.trainer.seen"): (4 * MIB, 1)})

    def test_nor_is_one_lost_that_is_replaced_before_it_is_named(self):
        self.keep(trainer=Trainer())
        name, size = running.Holders.name, 1

        def later(holders, arrays):
            """The program replaces the array that the look has described, while it still is there."""
            before, globals()["trainer"].seen = globals()["trainer"].seen, torch.empty(size * MIB)
            name(holders, arrays)
            del before

        for size in (1, 2, 4):
            globals()["trainer"].seen = torch.empty(size * MIB)
            with unittest.mock.patch.object(running.Holders, "name", later):
                told = self.look()
        self.assertEqual(told, {self.path("M.trainer.seen"): (4 * MIB, 1)})

    def test_another_object_at_the_address_of_an_array_that_is_gone_spoils_no_look(self):
        self.keep(trainer=Trainer(), history=[])
        self.addCleanup(gc.collect)
        described, child, addresses, Odd = running._described, following.child, set(), hashed()

        def later(*args):
            """The look has met an array, which the program then gives up for another object."""
            addresses.add(id(globals()["trainer"].seen))
            globals()["trainer"].seen = Odd()
            return described(*args)

        def at_address(children, identity):
            others = (c for c in children if type(c) is Odd and identity in addresses)
            return next(others, None) or child(children, identity)

        for _ in range(2):
            globals()["trainer"].seen = torch.empty(MIB)
            history.extend(torch.empty(MIB) for _ in range(3))
            with (
                unittest.mock.patch.object(running, "_described", later),
                unittest.mock.patch.object(following, "child", at_address),
            ):
                told = self.look()
        self.assertEqual(told, {self.path("list M.history"): (3 * MIB, 3)})

    def test_names_of_modules_objects_and_classes(self):
        trainer = Trainer()
        trainer.seen = [torch.empty(MIB) for _ in range(3)]
        self.keep(trainer=trainer, history=collections.deque([torch.empty(MIB)] * 2))
        history.append(torch.empty(MIB))
        Trainer.shared.extend(torch.empty(2 * MIB) for _ in range(2))
        self.addCleanup(Trainer.shared.clear)
        self.keep(pairs=[(i, {"loss": torch.empty(MIB)}) for i in range(5)])
        del trainer
        self.assertEqual(
            self.look(),
            {
                self.path("list M.trainer.seen"): (3 * MIB, 3),
                self.path("deque M.history"): (2 * MIB, 2),
                self.path("list class M.Trainer.shared"): (4 * MIB, 2),
                self.path("list M.pairs[…][…]['loss']"): (5 * MIB, 5),
            },
        )

    def test_how_many_elements_a_container_has_and_can_have(self):
        @functools.lru_cache(maxsize=100)
        def cached(key):
            return torch.empty(MIB)

        self.keep(ring=collections.deque([torch.empty(MIB) for _ in range(2)], maxlen=7))
        self.keep(waiting=queue.Queue(maxsize=5), endless=collections.deque())
        endless.extend(torch.empty(MIB) for _ in range(4))
        for key in range(3):
            waiting.put(torch.empty(MIB))
            cached(key)
        self.keep(cached=cached)
        self.assertTrue(self.surveys.look_now(self.process, time.monotonic() + 20))
        found = {h["path"].split(".")[-1]: h for h in self.surveys.told}
        told = {name: (h["length"], h.get("bound")) for name, h in found.items()}
        names = {name: size for name, size in told.items() if name in ("ring", "endless")}
        self.assertEqual(names, {"ring": (2, 7), "endless": (4, None)})
        self.assertEqual(sorted(told.values(), key=str), [(2, 7), (3, 100), (3, 5), (4, None)])
        self.assertTrue(all(h["over_ms"] > 0 for h in self.surveys.told))

    def test_a_bound_of_each_of_many_elements_is_none_of_all(self):
        def ring(most):
            return types.SimpleNamespace(ring=collections.deque([torch.empty(MIB)], maxlen=most))

        self.keep(tracks=[ring(3) for _ in range(9)], heads=[ring(20) for _ in range(4)])
        self.assertTrue(self.surveys.look_now(self.process, time.monotonic() + 20))
        told = {h["path"].split(".")[-2].split("[")[0]: h for h in self.surveys.told}
        bounds = {name: (h["length"], h.get("bound"), h["count"]) for name, h in told.items()}
        self.assertEqual(bounds, {"tracks": (9, None, 9), "heads": (1, 20, 4)})

    def test_variables_of_functions_that_run(self):
        def serve(wait):
            batches = [torch.empty(MIB) for _ in range(4)]
            kept = {i: torch.empty(MIB) for i in range(20)}
            wait()
            del batches, kept

        running = Running(serve)
        found = self.look()
        running.end()
        self.assertEqual(
            found,
            {
                "list serve() local batches": (4 * MIB, 4),
                "dict serve() local kept": (20 * MIB, 20),
            },
        )
        self.assertEqual(self.look(), {})

    @unittest.skipIf(sys.version_info < (3, 11), "a frame is not told from a running one")
    def test_what_the_frames_of_kept_exceptions_hold(self):
        def fail():
            out = torch.empty(MIB)
            raise ValueError(out.nbytes)

        def keep(wait):
            failures = []
            for _ in range(3):
                try:
                    fail()
                except ValueError as e:
                    failures.append(e)
            wait()

        running = Running(keep)
        self.addCleanup(running.end)
        self.assertEqual(
            self.look(),
            {"list keep() local failures[…].__traceback__ → fail() local out": (3 * MIB, 3)},
        )

    def test_an_object_goes_by_its_own_name_in_its_methods(self):
        trainer = Trainer()

        def train(wait):
            mine = trainer
            mine.keep(wait)

        running = Running(train)
        found = self.look()
        running.end()
        self.assertEqual(
            found,
            {
                "list train() local mine.kept": (3 * MIB, 3),
                "list keep() local batches": (2 * MIB, 2),
            },
        )

    def test_a_librarys_variables_come_last_and_those_of_its_constructors_never(self):
        library = library_of(
            """
            def fit(wait, parameters, given):
                mine = [make() for _ in range(2)]
                Optimizer(parameters, given, wait)
                del mine

            class Optimizer:
                def __init__(self, parameters, given, wait):
                    group = {"params": list(parameters)}
                    states = [make() for _ in given]
                    wait()
                    del group, states
            """,
            make=lambda: torch.empty(MIB),
        )

        def train(wait):
            model = Trainer()
            model.layers = [[torch.empty(MIB)] for _ in range(3)]
            library["fit"](wait, (w for (w,) in model.layers), range(5))
            del model

        running = Running(train)
        found = self.look()
        running.end()
        self.assertEqual(
            found,
            {
                "list train() local model.layers[…][…]": (3 * MIB, 3),
                "list fit() local mine": (2 * MIB, 2),
            },
        )

    def test_more_arrays_than_are_named_are_all_counted(self):
        self.keep(rows=[[torch.empty(MIB), i] for i in range(1500)])
        self.assertEqual(self.look(), {self.path("list M.rows[…][…]"): (1500 * MIB, 1500)})

    def test_of_too_many_arrays_the_late_ones_come_first(self):
        self.keep(furniture=[torch.empty(512) for _ in range(50)])
        self.look()
        self.keep(history=[torch.empty(MIB) for _ in range(3)])
        with unittest.mock.patch.object(running, "MOST_ARRAYS", 10):
            self.assertEqual(self.look(), {self.path("list M.history"): (3 * MIB, 3)})

    def test_what_a_coroutine_holds_that_runs_at_the_moment_of_naming(self):
        turns = iter([{}, {}, {1: "name"}])
        reach = downward.Reach(())
        reach._named_now = lambda *_: next(turns)
        found = running.Downwards(reach).names([types.SimpleNamespace(identity=1)])
        self.assertEqual(found, {1: "name"})

    @unittest.skipIf(sys.version_info < (3, 11), "the variables of a frame are not read before 3.11")
    def test_a_variable_of_a_coroutine_that_inner_functions_use_has_its_name(self):
        @types.coroutine
        def pause():
            yield

        async def serve():
            box, other = types.SimpleNamespace(queue=[torch.empty(MIB) for _ in range(3)]), None
            clients = [lambda: (box.queue, other)]
            await pause()
            del clients

        serving = serve()
        serving.send(None)
        self.keep(serving=serving)
        del serving
        self.assertEqual(self.look(), {"list serve() local box.queue": (3 * MIB, 3)})
        globals()["serving"].close()

    def test_holders_of_outputs_are_said_to_have_graphs(self):
        source = torch.empty(MIB)
        outputs = [torch.operation("Mul", source) for _ in range(3)]
        plain = [torch.empty(MIB) for _ in range(3)]
        self.keep(outputs=outputs, plain=plain)
        self.look()
        told = {h["path"]: h.get("graphs") for h in self.surveys.told}
        self.assertEqual(told[self.path("list M.outputs")], True)
        self.assertIsNone(told[self.path("list M.plain")])

    def test_holders_of_views_of_outputs_are_said_to_have_graphs(self):
        def view_of(is_output):
            view, whole = torch.empty(MIB), torch.empty(MIB)
            view.requires_grad = whole.requires_grad = True
            whole.is_leaf, view._base, view._is_view = not is_output, whole, lambda: True
            return view

        self.keep(scores=[view_of(True) for _ in range(3)], rows=[view_of(False) for _ in range(3)])
        self.look()
        told = {h["path"]: h.get("graphs") for h in self.surveys.told}
        self.assertIs(told[self.path("list M.scores")], True)
        self.assertIsNone(told[self.path("list M.rows")])

    def test_what_is_held_by_a_key_of_a_dictionary(self):
        trainer = Trainer()
        trainer.kept = [torch.empty(MIB) for _ in range(3)]
        self.keep(state={trainer: 1})
        del trainer
        self.assertEqual(self.look(), {self.path("list M.state key.kept"): (3 * MIB, 3)})

    def test_what_hooks_of_an_array_hold(self):
        def keep(wait):
            weight = torch.empty(512)
            weight.hooks = collections.OrderedDict()
            for key in range(3):
                weight.hooks[key] = lambda gradient, batch=torch.empty(MIB): None
            wait()

        running = Running(keep)
        self.addCleanup(running.end)
        ((path, found),) = self.look().items()
        self.assertEqual(path, "OrderedDict keep() local weight.hooks[…]() default batch")
        self.assertEqual(found, (3 * MIB, 3))

    def test_the_hooks_of_a_few_modules_are_told_and_not_the_list_of_these(self):
        def keep(wait):
            layers = [Trainer() for _ in range(4)]
            for layer in layers:
                layer._forward_hooks = collections.OrderedDict()
            del layer
            for key in range(5):
                layers[0]._forward_hooks[key] = lambda inputs, batch=torch.empty(MIB): None
            wait()

        running = Running(keep)
        self.addCleanup(running.end)
        ((path, found),) = self.look().items()
        self.assertEqual(path, "OrderedDict keep() local layers[…]._forward_hooks[…]() default batch")
        self.assertEqual(found, (5 * MIB, 5))

    def test_a_list_with_many_elements_is_told_and_not_the_two_or_three_around_it(self):
        def keep(wait, boards):
            boards = [Trainer() for _ in range(boards)]
            for board in boards[:2]:
                board.notes = [torch.empty(MIB) for _ in range(20)]
            del board
            wait()

        whole = "list keep() local boards[…].notes"
        for number, path in ((3, whole), (4, whole + "[…]")):
            running = Running(functools.partial(keep, boards=number))
            self.assertEqual(self.look(), {path: (40 * MIB, 40)})
            running.end()

    def test_what_an_expression_loops_over_has_the_name_that_it_has_elsewhere(self):
        class Judge:
            def judge(self, wait):
                any(wait() for _ in self.rows)

        def keep(wait):
            hall = Trainer()
            hall.main = types.SimpleNamespace(judge=Judge())
            hall.main.judge.rows = [torch.empty(MIB) for _ in range(3)]
            hall.main.judge.judge(wait)

        running = Running(keep)
        self.addCleanup(running.end)
        self.assertEqual(self.look(), {"list keep() local hall.main.judge.rows": (3 * MIB, 3)})

    def test_a_path_ends_where_an_object_hides_what_it_refers_to(self):
        table = Trainer()
        table._blocks = itertools.repeat([torch.empty(MIB), torch.empty(MIB)])
        self.keep(table=table, hidden=itertools.repeat([torch.empty(MIB) for _ in range(3)]))
        del table
        self.assertEqual(self.look(), {self.path("M.hidden"): (3 * MIB, 3), self.path("M.table"): (2 * MIB, 2)})

    def test_what_a_closure_of_an_object_holds_is_named_by_its_variable(self):
        def remember():
            memo = {}

            def inner(key):
                memo[key] = torch.empty(MIB)

            return inner

        self.look()
        self.keep(embed=remember())
        for key in range(20):
            embed(key)
        self.assertEqual(self.look(), {self.path("dict M.embed closure memo"): (20 * MIB, 20)})
        (entry,) = self.surveys.told
        self.assertRegex(entry["filled"], r"test_looks\.py:\d+ inner$")

    def test_what_one_look_saw_is_not_late_at_the_next(self):
        self.keep(history=[torch.empty(MIB) for _ in range(3)])
        self.look()
        history.extend(torch.empty(MIB) for _ in range(4))
        self.assertEqual(self.look(), {self.path("list M.history"): (4 * MIB, 4)})

    def test_beside_a_device_what_the_host_holds_is_looked_for_where_its_heap_grew(self):
        heap = [0]
        self.process.held = lambda: (None, heap[0])
        self.surveys.take(self.process, self.process.frameworks)
        self.keep(rows=[bytes(BLOB) for _ in range(100)], history=[torch.empty(MIB) for _ in range(60)])
        self.assertEqual(list(self.look()), [self.path("list M.history")])
        heap[0] += 100 * BLOB
        rows.extend(bytes(BLOB) for _ in range(100))
        history.extend(torch.empty(MIB) for _ in range(60))
        self.look()
        told = {h["path"]: h for h in self.surveys.told}
        self.assertEqual(set(told), {self.path("list M.history"), self.path("list M.rows")})
        self.assertNotIn("host", told[self.path("list M.history")])
        host = told[self.path("list M.rows")]
        self.assertTrue(host["host"])
        self.assertEqual((host["count"], host["bytes"] // BLOB), (200, 200))
        ended = [h["path"] for h in naming.with_gone([], self.surveys.told)]
        self.assertEqual(set(ended), {self.path("list M.history (gone at the end)"), self.path("list M.rows")})

    def test_what_lists_in_a_module_have_is_not_told_for_its_single_arrays(self):
        kind = type("ModuleDict", (), {"__module__": "torch.nn.modules.container"})
        metrics, sizes = kind(), range(512, 512 + 4 * naming.MAX_NAMED, 4)
        metrics._modules = {n: types.SimpleNamespace(last=None, rows=[], sums=[]) for n in "ab"}
        self.keep(metrics=metrics)
        self.look()
        for metric in metrics._modules.values():
            metric.last = torch.empty(MIB)
            metric.rows.extend(map(torch.empty, sizes))
            metric.sums.extend(map(torch.empty, sizes))
        told = {path: count for path, (_, count) in self.look().items()}
        lists = {self.path("list M.metrics[…].%s" % name): 2 * len(sizes) for name in ("rows", "sums")}
        self.assertEqual(told, {self.path("ModuleDict M.metrics[…].last"): 2, **lists})

    def test_beside_a_device_few_arrays_of_the_host_are_told_by_name(self):
        heap = [0]
        self.process.held = lambda: (None, heap[0])
        self.surveys.take(self.process, self.process.frameworks)
        copy = functools.partial(torch.empty, MIB, "cpu")
        days = [types.SimpleNamespace(loads=copy()) for _ in range(2)]
        self.keep(days=days, before=[copy() for _ in range(9)])
        self.assertEqual(self.look(), {}, "whether they came since nobody knows")
        heap[0] += 100 * MIB
        days.extend(types.SimpleNamespace(loads=copy()) for _ in range(3))
        self.assertEqual(self.look(), {self.path("list M.days[…].loads"): (3 * MIB, 3)})
        (entry,) = self.surveys.told
        self.assertTrue(entry["host"])
        self.assertEqual(entry["length"], 5)
        self.assertRegex(entry["filled"], r"test_looks\.py:\d+ ")

    def test_beside_a_device_what_is_pinned_is_told_where_shared_memory_grew(self):
        shared = iter((0, 2 * MIB, 60 * MIB))
        with unittest.mock.patch.object(mappings, "shared", lambda: next(shared)):
            self.surveys.restart()
            self.keep(pieces=collections.OrderedDict())
            self.assertEqual(self.look(), {})
            pieces.update((n, torch.empty(MIB, "cpu")) for n in range(4))
            self.assertEqual(self.look(), {}, "little was pinned")
            pieces.update((n, torch.empty(MIB, "cpu")) for n in range(9, 39))
            told = self.look()
        self.assertEqual(list(told), [self.path("OrderedDict M.pieces")])
        self.assertTrue(self.surveys.told[0]["host"])

    def test_beside_a_device_what_is_heavy_on_the_host_is_told_for_that_too(self):
        self.process.held = lambda: (None, 100 * MIB)
        self.surveys._heap = 0
        self.keep(programs={}, light={})
        self.look()
        for number in range(40):
            programs[number] = types.SimpleNamespace(inputs=torch.empty(512), nodes=[bytes(BLOB)])
            light[number] = types.SimpleNamespace(inputs=torch.empty(512), nodes=[])
        self.look()
        told = {h["path"]: h for h in self.surveys.told}
        device = {self.path("dict M.%s[…].inputs" % name) for name in ("programs", "light")}
        self.assertEqual(set(told), device | {self.path("dict M.programs")})
        host = told[self.path("dict M.programs")]
        self.assertTrue(host["host"])
        self.assertEqual((host["count"], host["bytes"] // BLOB), (40, 40))

    def test_beside_a_device_copies_of_what_it_has_are_no_holder_of_their_own(self):
        self.process.held = lambda: (None, 100 * MIB)
        self.surveys._heap = 0
        self.keep(pairs=[])
        self.look()
        for device in ("cuda:0", "cpu") * 3:
            pairs.append(torch.empty(MIB, device))
        self.assertEqual(self.look(), {self.path("list M.pairs"): (3 * MIB, 3)})
        self.assertNotIn("host", self.surveys.told[0])

    def test_beside_a_device_objects_of_extensions_are_told_in_number(self):
        self.process.held = lambda: (None, 100 * MIB)
        self.surveys._heap = 0
        self.keep(kept={}, history=[])
        self.look()
        kept.update((n, (zlib.compressobj(), n)) for n in range(40))
        history.extend((torch.empty(MIB), n) for n in range(40))
        standard = {"builtins", "types", "collections"}  # zlib as a stand-in for what others wrote
        with unittest.mock.patch.object(opaque, "STANDARD", standard):
            found = self.look()
        compressed = self.path("Compress objects below M.kept")
        device = {self.path("list M.history[…][…]"): (40 * MIB, 40)}
        self.assertEqual(found, {compressed: (0, 40), **device})
        self.assertTrue(next(h for h in self.surveys.told if h["path"] == compressed)["host"])

    def test_beside_a_device_they_are_told_where_the_host_does_not_grow_too(self):
        self.keep(textures={}, tensors=[])
        self.look()
        for n in range(40):
            if n not in textures:
                textures[n] = Texture("I")
        tensors.extend(torch.empty(MIB, "cpu") for n in range(40))
        standard = {"builtins", "types", "collections"}
        with unittest.mock.patch.object(opaque, "STANDARD", standard):
            found = self.look()
        path = self.path("Texture objects below M.textures")
        self.assertEqual(found[path], (0, 40))
        told = next(h for h in self.surveys.told if h["path"] == path)
        self.assertEqual(told["kind"], "cache-without-bound")
        self.assertNotIn("is_dictionary", told)
        self.assertEqual([path for path in found if "tensors" in path and "objects" in path], [])

    def test_only_what_is_hidden_is_followed_once_more(self):
        level, history = levels.Level(kinds.TypeTeller(), None), [torch.empty(512) for _ in range(6)]
        for tensor in history:
            tensor.hooks = None
        history[4].hooks = [1]
        level.followed, level.places = [*history, "no array"], [0, 2, 3, 5, 7, 8, 9]
        atomic.once(*level.hide({atomic.key(torch.Tensor)}, operator.attrgetter("hooks")))
        self.assertIs(level.hiding[0], history[4])
        self.assertEqual((len(level.hiding), level.places), (1, [0, 2, 3, 5, 7, 8, 9, 7]))

    def test_a_container_keeps_the_path_that_it_was_told_by(self):
        trainer = Trainer()
        trainer.seen = [torch.empty(MIB) for _ in range(3)]
        self.keep(trainer=trainer)
        del trainer

        def serve(wait):
            mine = globals()["trainer"]
            wait()
            mine.seen.append(None)

        running = Running(serve)
        self.addCleanup(running.end)
        path = self.path("list M.trainer.seen")
        self.assertEqual(self.look(), {path: (3 * MIB, 3)})
        globals()["trainer"].seen += [torch.empty(MIB) for _ in range(4)]
        globals()["trainer"] = None
        self.assertEqual(self.look(), {path: (4 * MIB, 4)})

    def test_a_container_that_is_put_together_anew_is_found_in_its_place(self):
        trainer = Trainer()
        trainer.seen = []
        self.keep(trainer=trainer)
        del trainer

        turns, done = queue.Queue(), queue.Queue()

        def collect():
            history = ()
            for _ in iter(turns.get, None):
                history = history + (torch.empty(MIB),)
                globals()["trainer"].seen = globals()["trainer"].seen + [torch.empty(MIB)]
                done.put(None)

        def go_on():
            turns.put(1)
            done.get(timeout=30)

        thread = threading.Thread(target=collect)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(turns.put, None)
        self.look()
        for _ in range(8):
            go_on()
        named = downward.Reach.named

        def later(reach, *args):
            go_on()
            return named(reach, *args)

        with unittest.mock.patch.object(downward.Reach, "named", later):
            found = self.look()
        self.assertEqual(found[self.path("list M.trainer.seen")], (8 * MIB, 8))
        self.assertEqual(found["tuple collect() local history"], (8 * MIB, 8))

    def test_a_state_that_is_made_anew_with_all_that_it_has_is_found_in_its_place(self):
        turns, done = queue.Queue(), queue.Queue()
        self.keep(trainer=Trainer())

        def advanced(stage):
            return types.SimpleNamespace(seen=(*stage.seen, torch.empty(MIB)))

        def run():
            stage = globals()["trainer"].stage = types.SimpleNamespace(seen=())
            for _ in iter(turns.get, None):
                stage = advanced(stage)
                globals()["trainer"].stage = advanced(globals()["trainer"].stage)
                done.put(None)

        def go_on():
            turns.put(1)
            done.get(timeout=30)

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(turns.put, None)
        self.look()
        for _ in range(8):
            go_on()
        named = downward.Reach.named

        def later(reach, *args):
            go_on()
            return named(reach, *args)

        with unittest.mock.patch.object(downward.Reach, "named", later):
            found = self.look()
        self.assertEqual(found[self.path("tuple M.trainer.stage.seen")], (8 * MIB, 8))
        self.assertEqual(found["tuple run() local stage.seen"], (8 * MIB, 8))

    def test_a_look_makes_few_objects_for_the_collector(self):
        # Each 700 that are alive set off a collection, and hundreds of these one of all objects.
        kinds, makes = self.process.frameworks[0].types(), []
        with unittest.mock.patch.object(atomic, "once", side_effect=lambda *steps: makes.append(gc.get_count()[0])):
            self.addCleanup(gc.enable)
            gc.collect()
            gc.disable()
            downward.Reach(kinds, nested=(Trainer,))
        self.assertLess(max(makes), 15000)

    def test_what_is_deep_below_library_functions_is_reached_at_a_second_try(self):
        lines = """
            def call(f, held):
                f()
            """
        deep, found = downward.SHALLOW[1] + 1, []

        def make():
            held = [torch.empty(MIB)]
            for _ in range(deep):
                held = [held]
            return held

        def look():
            found.append(downward.Reach(self.process.frameworks[0].types()))

        library_of(lines)["call"](look, make())
        self.assertIn(deep + 2, [len(found[0].chain(identity)) for identity in found[0].arrays()])

    def test_what_refers_to_itself_at_the_end_has_the_name_that_it_had(self):
        class Room:
            def __init__(self):
                self.undo = []

            def edit(self):
                before = torch.empty(MIB)

                def back():
                    self.picture = before

                self.undo.append(back)  # the line of steps back

        def work(wait):
            room = Room()
            for _ in range(3):
                room.edit()
            wait()

        self.addCleanup(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(100000)  # it is on, but collects nothing meanwhile
        body = Running(work)
        told = self.look()
        body.end()
        self.assertEqual(told, {"list work() local room.undo[…] closure before": (3 * MIB, 3)})
        self.process.survivors = self.surveys.reference()
        found = ending.find(self.process, time.monotonic() + 20, self.surveys.kept)
        found = {entry["path"]: entry for entry in naming.with_gone(found, self.surveys.told)}
        entry = found[next(iter(told))]
        self.assertEqual(entry["bytes"], 3 * MIB)
        self.assertEqual([path for path in found if "back closure" in path], [])
        self.assertIn("test_looks.py", entry["filled"])
        gc.collect()

    def test_of_the_only_element_of_a_list_its_own_list_is_the_container(self):
        handler = types.SimpleNamespace(records=[])
        self.keep(log=types.SimpleNamespace(handlers=[handler]))
        self.look()
        handler.records.extend((n, torch.empty(MIB)) for n in range(20))
        self.assertEqual(self.look(), {self.path("list M.log.handlers[…].records[…][…]"): (20 * MIB, 20)})
        self.assertEqual(self.surveys.told[0]["length"], 20)

    def test_what_a_hook_of_an_inner_module_keeps_is_reached(self):
        class Module:
            __slots__ = ("parts",)

            def __init__(self, **parts):
                self.parts = parts

        class Cam:
            __slots__ = ("maps",)

            def __init__(self):
                self.maps = [torch.empty(MIB)]

            def remember(self):
                pass

        hooked = Module(hooks=collections.OrderedDict({1: Cam().remember}))
        self.keep(practice=Module(model=Module(layers=Module(block=Module(last=hooked)))))
        kinds = self.process.frameworks[0].types()
        reach = downward.Reach(kinds, nested=(Module,))
        chains = [reach.chain(identity) for identity in reach.arrays()]
        maps = hooked.parts["hooks"][1].__self__.maps
        self.assertIn(id(maps), [chain[-2] for chain in chains if len(chain) > 1])

    def test_what_a_hook_far_below_its_model_closes_over_is_reached(self):
        class Module:
            __slots__ = ("parts",)

            def __init__(self, **parts):
                self.parts = parts

        captured = [torch.empty(MIB)]
        module = Module(hooks=collections.OrderedDict({1: lambda: captured}))
        for _ in range(downward.LEVELS + downward.HOOKS):
            module = Module(inner=module)
        self.keep(model=module)
        reach = downward.Reach(self.process.frameworks[0].types(), nested=(Module,))
        chains = [reach.chain(identity) for identity in reach.arrays()]
        self.assertIn(id(captured), [chain[-2] for chain in chains if len(chain) > 30])

    def test_what_an_object_of_the_program_has_far_below_a_model_is_reached(self):
        class Module:
            __slots__ = ("parts",)

            def __init__(self, **parts):
                self.parts = parts

        probe = Probe()
        module = Module(hooks=collections.OrderedDict({1: probe.note}))
        for _ in range(downward.LEVELS + downward.HOOKS):
            module = Module(inner=module)
        self.keep(model=module, Probe=Probe)
        reach = downward.Reach(self.process.frameworks[0].types(), nested=(Module,))
        chains = [reach.chain(identity) for identity in reach.arrays()]
        self.assertIn(id(probe.seen), [chain[-2] for chain in chains if len(chain) > 30])

    def test_a_generator_that_only_a_loop_has_is_looked_into(self):
        turns, done = queue.Queue(), queue.Queue()

        def steadied(pictures):
            seen = []
            for picture in pictures:
                seen.append(picture)  # the line of pictures
                yield seen[-1]

        def work():
            for _ in iter(steadied(torch.empty(MIB) for _ in range(9))):
                done.put(None)
                turns.get()

        thread = threading.Thread(target=work)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(lambda: [turns.put(None) for _ in range(9)])
        done.get(timeout=30)
        self.look()
        for _ in range(5):
            turns.put(None)
            done.get(timeout=30)
        # The first was known, and the loop has a name for the last.
        self.assertEqual(self.look(), {"list steadied() local seen": (4 * MIB, 4)})
        self.assertIn("test_looks.py", self.surveys.told[0]["filled"])

    def test_a_holder_that_does_not_grow_is_a_moments_work(self):
        self.surveys.take(self.process, self.process.frameworks)
        self.keep(batch=[torch.empty(MIB) for _ in range(3)])
        self.assertEqual(len(self.look()), 1)
        self.assertEqual(self.look(), {})

    def test_no_more_is_followed_than_there_is_time_for(self):
        self.keep(data=list(range(levels.ELEMENTS + 1)) + [torch.empty(MIB) for _ in range(2)])
        self.keep(small=[torch.empty(MIB) for _ in range(2)])
        self.assertEqual(self.look(), {self.path("list M.small"): (2 * MIB, 2)})

    def test_containers_that_grew_where_no_device_is(self):
        self.process.frameworks = []
        self.keep(rows=[{"i": i} for i in range(2000)])
        self.look()
        rows.extend({"i": i} for i in range(5000))
        ((path, (size, count)),) = [p for p in self.look().items() if "rows" in p[0]]
        self.assertEqual((path, count), (self.path("list M.rows"), 5000))
        self.assertGreater(size, 5000 * 64)
        self.process.exiting = True
        self.process.survivors = self.surveys._notes[0][1]
        found = ending.find(self.process, time.monotonic() + 20)
        self.assertEqual([h["count"] for h in found if h["path"] == path], [5000])

    def grown_by(self, name):
        return [found for path, found in self.look().items() if path.endswith("." + name)]

    def test_a_few_elements_that_take_a_lot_are_told_and_light_ones_are_not(self):
        self.process.frameworks = []
        self.keep(blobs=collections.deque(bytes(200_000) for _ in range(20)), words=["x"] * 20)
        self.look()
        blobs.extend(bytes(200_000) for _ in range(40))
        words.extend(str(i) for i in range(400))
        ((size, count),) = self.grown_by("blobs")
        self.assertEqual(count, 40)
        self.assertTrue(40 * 200_000 <= size < 41 * 200_000, size)
        self.assertEqual(self.grown_by("words"), [])

    def test_what_elements_keep_counts_and_what_they_share_does_not(self):
        self.process.frameworks = []
        shared = bytearray(100 * MIB)
        self.keep(jobs=[])
        self.look()
        for _ in range(50):
            job = Trainer()
            job.input, job.shared, job.module = bytearray(200_000), shared, sys
            jobs.append({"job": job})
        ((size, count),) = self.grown_by("jobs")
        self.assertEqual(count, 50)
        self.assertTrue(50 * 200_000 <= size < 50 * 210_000, size)

    def test_the_lines_that_fill_a_container_are_told(self):
        self.process.frameworks = []
        self.keep(inbox=queue.Queue(), orders=[])
        self.look()

        def fill():
            for _ in range(40):
                inbox.put(bytes(200_000))  # the line of the queue
                orders.append(bytes(200_000))  # the line of the list

        fill()
        self.look()
        told = {h["path"]: h.get("filled", "") for h in self.surveys.told}
        with open(__file__) as source:
            source_lines = source.read().splitlines()
        for path, thing in (("deque M.inbox.queue", "queue"), ("list M.orders", "list")):
            ends = [line.endswith("# the line of the " + thing) for line in source_lines]
            place = "%s:%d fill" % (__file__, ends.index(True) + 1)
            self.assertEqual(told[self.path(path)], place)

    def test_a_source_that_is_long_or_none_costs_no_time(self):
        with tempfile.TemporaryDirectory() as folder:
            minified = os.path.join(folder, "minified.py")
            with open(minified, "w") as source:
                source.write("rows = " * 140_000 + "1\nrows.append(2)\n")
            begun = time.monotonic()
            places = fillers.places(fillers.Filler("rows", minified, False))
            self.assertEqual(places, ["%s:2 <module>" % minified])
            pipe = os.path.join(folder, "pipe.py")
            os.mkfifo(pipe)
            self.assertEqual(fillers.places(fillers.Filler("no_such_name", pipe, False)), [])
            self.assertLess(time.monotonic() - begun, 20)  # else it is minutes, or for ever

    def test_work_that_waits_for_an_executor_has_the_line_that_hands_it_out(self):
        go, pool = threading.Event(), concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(pool.shutdown)
        self.addCleanup(go.set)
        self.keep(archive=types.SimpleNamespace(pool=pool))
        del pool
        archive.pool.submit(go.wait)
        self.look()

        def send(number):
            for _ in range(number):
                archive.pool.submit(id, torch.empty(MIB))

        for number in (20, 40):
            send(number)
            told = self.look()
        self.assertEqual(told, {self.path("M.archive.pool"): (40 * MIB, 40)})
        (entry,) = self.surveys.told
        self.assertEqual(entry["kind"], "unbounded-queue/executor")
        self.assertRegex(entry["filled"], r"test_looks\.py:\d+ send")

    def test_what_a_tee_has_yet_to_give_is_told_with_the_branch_behind(self):
        for first in (True, False):
            branches = itertools.tee((torch.empty(MIB), n) for n in itertools.count())
            read, waiting = branches if first else reversed(branches)
            self.keep(read=read, waiting=waiting)
            for _ in range(150):
                next(read)
            del branches, read, waiting
            self.assertEqual(self.look(), {self.path("tee M.waiting[…][…]"): (150 * MIB, 150)})
            globals().update(read=None, waiting=None)
            self.surveys = Surveys()
            self.look()

    def test_a_cache_of_functools_has_its_functions_name(self):
        self.process.frameworks = []
        self.keep(render=functools.lru_cache(maxsize=None)(lambda key: bytes(200_000)))
        self.look()
        for key in range(40):
            render(key)
        self.assertIn(self.path("lru_cache M.render"), self.look())

    def test_a_note_of_the_present_is_not_compared_with(self):
        self.assertIsNone(self.surveys.reference())
        self.surveys._begun -= 100
        self.surveys._notes = [(when - 30, note) for when, note in self.surveys._notes]
        note = self.surveys._notes[0][1]
        note.complete = True
        self.assertIs(self.surveys.reference(), note)
        note.complete = False  # what it did not see would seem to be late
        self.assertIsNone(self.surveys.reference())


class NoTraceTest(unittest.TestCase):
    def test_nothing_outlives_a_look(self):
        objects = [Trainer() for _ in range(100)]
        counts = [sys.getrefcount(o) for o in objects]
        found = living.references((Trainer,))
        reached = downward.Reach((Trainer,))
        self.assertEqual([sys.getrefcount(o) for o in objects], counts)
        self.assertTrue({id(o) for o in objects} <= set(found))
        self.assertTrue({id(o) for o in objects} <= set(reached.arrays()))
        gone = [weakref.ref(o) for o in objects]
        objects.clear()
        self.assertEqual([r for r in gone if r() is not None], [])

    def test_garbage_collection_is_as_before(self):
        for wanted in (True, False):
            (gc.enable if wanted else gc.disable)()
            self.addCleanup(gc.enable)
            living.references((Trainer,))
            self.assertEqual(gc.isenabled(), wanted)
            with self.assertRaises(TypeError):
                atomic.once(atomic.fill([], None))
            self.assertEqual(gc.isenabled(), wanted)

    def test_threads_take_turns_as_before(self):
        before = sys.getswitchinterval()
        with sampling.paused():
            self.assertAlmostEqual(sys.getswitchinterval(), sampling.paused.SECONDS)
        self.assertEqual(sys.getswitchinterval(), before)

    def test_a_key_tells_the_identity(self):
        some = [None, object, Trainer, Trainer(), [], "text", torch.Tensor, len, self.setUp, 1 << 70]
        identities, keys = list(map(id, some)), list(map(atomic.key, some))
        self.assertEqual((atomic.identities(keys), atomic.keys_of(identities)), (identities, keys))

    @unittest.skipUnless(hasattr(sys, "addaudithook"), "no audit hooks before 3.8")
    def test_beside_an_audit_hook_no_thread_gets_its_turn_in_a_look(self):
        here = os.path.dirname(os.path.abspath(__file__))
        folder = os.path.dirname(os.path.dirname(os.path.abspath(atomic.__file__)))
        told = subprocess.run(
            [sys.executable, os.path.join(here, "programs", "audited.py")],
            env={**os.environ, "PYTHONPATH": folder},
            stdout=subprocess.PIPE,
            check=True,
        )
        self.assertEqual(told.stdout.decode(), "told [False, True], 0 tuples failed: []\n")

    def test_no_code_of_the_programs_types_runs(self):
        gc.collect()
        self.assertEqual(kinds.TypeTeller().these([Trainer]), {Trainer})
        Odd = hashed()
        self.addCleanup(gc.collect)
        kept = [Odd() for _ in range(3)]
        living.references((Trainer, Odd))
        living.all_at_once((Trainer, Odd))
        living.census()
        downward.Reach((Trainer, Odd), (Odd,), singles=(Odd,))
        self.assertEqual(kinds.TypeTeller().these([Trainer]), {atomic.key(Trainer)})
        self.assertEqual(type(Odd).asked, 0)
        del kept

    def test_what_was_reached_keeps_no_class_of_the_programs(self):
        gc.collect()
        kept = type("Kept", (), {})
        gone = weakref.ref(kept)
        reach = downward.Reach((kept,), (kept,), singles=(kept,))
        del kept
        gc.collect()
        self.assertIsNone(gone())
        self.assertTrue(reach.complete)

    def test_what_a_function_gives_up_is_gone_at_once(self):
        gone = []

        def work(wait):
            big = Trainer()
            gone.append(weakref.ref(big))
            wait()
            big = None
            gone.append(gone[0]())
            del big

        running = Running(work)
        self.assertIn(id(gone[0]()), downward.Reach((Trainer,)).arrays())
        running.end()
        self.assertIsNone(gone[1])

    def test_a_functions_own_locals_are_not_touched(self):
        seen = []

        def work(wait):
            mine = locals()
            late = Trainer()
            wait()
            seen.append(dict(mine))
            del late

        running = Running(work)
        before = downward.Reach((Trainer,)).arrays()
        running.end()
        self.assertEqual(sorted(seen[0]), ["seen", "wait"])
        self.assertEqual(len(before), int(variables.LOOKS_IN))

    def test_what_an_exec_does_to_its_variables_stays(self):
        seen = []

        def work(wait):
            kept, number, told = Trainer(), 1, seen
            exec("number = 2; added = 3; wait(); told.append((number, added))")
            del kept, number, told

        running = Running(work)
        before = downward.Reach((Trainer,)).arrays()
        running.end()
        self.assertEqual(seen, [(2, 3)])
        self.assertEqual(len(before), int(variables.LOOKS_IN))

    def test_a_method_called_eval_is_no_eval(self):
        def work(wait):
            kept = Trainer()
            kept.eval = wait
            kept.eval()
            del kept

        running = Running(work)
        self.assertEqual(len(downward.Reach((Trainer,)).arrays()), 1)
        running.end()

    @unittest.skipIf(variables.LOOKS_IN, "from 3.13 on a look at variables has no effect")
    def test_while_a_debugger_follows_a_function_none_is_read(self):
        def work(wait):
            held = Trainer()
            sys._getframe().f_trace = lambda *_: None
            wait()
            del held

        running = Running(work)
        self.assertEqual(downward.Reach((Trainer,)).arrays(), {})
        running.end()


class Affine:
    """Must end on the thread that made it, as a window's handle or a graph that
    is being captured."""

    misplaced = 0

    def __init__(self):
        self._thread = threading.get_ident()

    def __del__(self):
        Affine.misplaced += threading.get_ident() != self._thread


class StressTest(unittest.TestCase):
    """Threads that do what a list of all objects was seen to break, while this
    one looks as often as it can."""

    SECONDS = 1.5

    def setUp(self):
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-5)
        self.errors, self.rounds, self.going = [], 0, True

    def build(self):
        while self.going:
            try:
                tuple((i,) for i in range(30))
                "{} {}".format(*([i] for i in range(2)))
                kept = [Affine(), (Affine(), {"a": [Affine()]})]
                del kept
                self.rounds += 1
            except Exception as err:  # SystemError: bad argument to internal function
                self.errors.append(err)

    def stress(self, look):
        threads = [threading.Thread(target=self.build) for _ in range(3)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + self.SECONDS
        try:
            while time.monotonic() < end:
                look()
        finally:
            self.going = False
            for thread in threads:
                thread.join()
        self.assertEqual(self.errors, [])
        self.assertEqual(Affine.misplaced, 0)
        self.assertGreater(self.rounds, 0)

    @unittest.skipUnless(atomic.POSSIBLE, "needs the atomic look")
    def test_what_the_agent_remembers_is_not_the_programs(self):
        for number in range(40):
            fillers._places("name%d" % number, "", False, False, 0, False)
        (remembered,) = [id(x) for x in gc.get_referents(fillers._places) if type(x) is dict and len(x) >= 40]
        self.assertIn(remembered, living.all_at_once(())[1])
        self.assertNotIn(remembered, living.containers())

    def test_surveys_disturb_nobody(self):
        self.stress(lambda: (living.references((Trainer,)), living.containers(), living.census()))

    def test_surveys_of_untracked_types_disturb_nobody(self):
        self.stress(lambda: living.references((), (bytearray, Trainer)))

    def test_looks_disturb_nobody(self):
        kept = [Trainer() for _ in range(50)]

        def look():
            reached = downward.Reach((Trainer,))
            reached.named(list(reached.arrays()))

        self.stress(look)
        del kept


if __name__ == "__main__":
    unittest.main()
