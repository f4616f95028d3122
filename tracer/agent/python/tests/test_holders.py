"""Names for what keeps arrays alive, on real Python objects."""

import collections
import ctypes
import functools
import sys
import threading
import time
import types
import unittest
import unittest.mock

import torch
from gpumem_agent.frameworks import torch as adapter
from gpumem_agent.holders import ending, living, naming, paths, register, upward

MIB = 1 << 20


class Unarmed:
    sites_wanted = False


class Trainer:
    def __init__(self):
        self.seen = []
        self.last = None


class Slotted:
    __slots__ = ("kept",)


class HoldersTest(unittest.TestCase):
    def setUp(self):
        torch.empty(512)  # the device lives
        self.framework = adapter.open_framework(torch, Unarmed)
        self.process = types.SimpleNamespace(
            frameworks=[self.framework],
            survivors=register.Register.of([self.framework]),
            exiting=True,
        )

    def find(self):
        found = ending.find(self.process, time.monotonic() + 20)
        return {h["path"]: (h["bytes"], h["count"]) for h in found}

    def keep(self, **names):
        """Puts objects into this module, as a program would."""
        globals().update(names)
        self.addCleanup(lambda: [globals().pop(n, None) for n in names])

    def hide(self, item):
        """Keeps an object as native code does."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
        self.addCleanup(lambda at: ctypes.pythonapi.Py_DecRef(ctypes.cast(at, ctypes.py_object)), id(item))

    def path(self, text):
        return text.replace("M.", "%s." % __name__)

    def test_a_list_of_a_module(self):
        self.keep(history=[torch.empty(4 * MIB) for _ in range(60)])
        self.assertEqual(self.find(), {self.path("list M.history"): (240 * MIB, 60)})

    def test_more_arrays_than_are_walked_are_all_counted(self):
        self.keep(history=[torch.empty(MIB) for _ in range(1500)])
        self.assertEqual(self.find(), {self.path("list M.history"): (1500 * MIB, 1500)})

    def test_of_thousands_without_a_name_some_are_climbed_from(self):
        climbs = []

        class Nobody:
            climbs, complete = True, True

            def names(self, arrays):
                climbs.append(len(arrays))
                return {}

        class Row:
            key, size, group = ("torch", 0), MIB, "Tensor (1, 64)"

            def __init__(self, identity):
                self.identity = identity

        found = naming.Holders(time.monotonic() + 20, Nobody())
        found.name([Row(n) for n in range(5000)])
        self.assertEqual(len(found.nameless), 5000)
        self.assertEqual(len(climbs), naming.LOST)

    def test_an_attribute_of_an_object(self):
        trainer = Trainer()
        trainer.seen.extend(torch.empty(MIB) for _ in range(3))
        trainer.last = torch.empty(2 * MIB)
        self.keep(trainer=trainer)
        del trainer
        self.assertEqual(
            self.find(),
            {
                self.path("list M.trainer.seen"): (3 * MIB, 3),
                self.path("M.trainer.last"): (2 * MIB, 1),
            },
        )

    def test_records_in_a_list_name_their_key(self):
        self.keep(records=[{"loss": torch.empty(MIB), "n": i} for i in range(5)])
        self.assertEqual(self.find(), {self.path("list M.records[…]['loss']"): (5 * MIB, 5)})

    def test_a_large_dictionary_is_one_holder(self):
        self.keep(cache={(i, i): torch.empty(MIB) for i in range(20)})
        self.assertEqual(self.find(), {self.path("dict M.cache"): (20 * MIB, 20)})

    def test_a_deque_and_slots(self):
        slotted = Slotted()
        slotted.kept = collections.deque(torch.empty(MIB) for _ in range(2))
        self.keep(slotted=slotted)
        del slotted
        self.assertEqual(self.find(), {self.path("deque M.slotted.kept"): (2 * MIB, 2)})

    def test_a_closure_is_named_by_its_function_and_variable(self):
        def make():
            kept = [torch.empty(MIB)]
            return lambda: kept

        self.keep(hook=make())
        (path,) = self.find()
        self.assertEqual(path, self.path("list M.hook closure kept"))

    def test_a_closure_of_a_function_without_a_name_is_named_as_it_was_made(self):
        def make():
            kept = [torch.empty(MIB)]
            return lambda: kept

        self.keep(hooks=collections.deque([make()]))
        (path,) = self.find()
        self.assertIn("closure kept", path)

    def test_an_lru_cache_is_named_by_its_function(self):
        @functools.lru_cache(maxsize=None)
        def load(i):
            return torch.empty(MIB)

        for i in range(3):
            load(i)
        self.keep(load=load)
        del load
        self.assertEqual(list(self.find().values()), [(3 * MIB, 3)])
        self.assertIn("load", list(self.find())[0])

    def test_a_class_attribute(self):
        Trainer.shared = [torch.empty(MIB)]
        self.addCleanup(lambda: delattr(Trainer, "shared"))
        self.assertEqual(self.find(), {self.path("list class M.Trainer.shared"): (MIB, 1)})

    def test_a_local_of_a_running_function(self):
        ready, done = threading.Event(), threading.Event()

        def serve():
            batches = [torch.empty(MIB) for _ in range(4)]
            ready.set()
            done.wait(30)
            del batches

        thread = threading.Thread(target=serve)
        thread.start()
        ready.wait(30)
        found = self.find()
        done.set()
        thread.join()
        self.assertEqual(found, {"list serve() local batches": (4 * MIB, 4)})

    def test_variables_of_many_threads_in_one_function_are_of_threads_that_are_left(self):
        done = threading.Event()

        def serve(all_in):
            batch = torch.empty(MIB)
            all_in.wait(30)
            done.wait(30)
            del batch

        for number, kind in ((3, None), (12, "threads-left")):
            done.clear()
            all_in = threading.Barrier(number + 1)
            threads = [threading.Thread(target=serve, args=(all_in,)) for _ in range(number)]
            for thread in threads:
                thread.start()
            all_in.wait(30)
            found = ending.find(self.process, time.monotonic() + 20)
            done.set()
            for thread in threads:
                thread.join()
            told = [(h["path"], h["count"], h.get("kind")) for h in found]
            self.assertEqual(told, [("serve() local batch", number, kind)])

    def test_a_frame_that_an_exception_keeps_is_not_what_holds(self):
        def fail():
            out = torch.empty(MIB)
            raise ValueError(out.nbytes)

        def attempt():
            try:
                fail()
            except ValueError as e:
                return e

        self.keep(failures=[attempt() for _ in range(3)])
        last = " out" if sys.version_info >= (3, 11) else ""
        path = self.path("list M.failures[…].__traceback__ → fail() local") + last
        self.assertEqual(self.find(), {path: (3 * MIB, 3)})

    @unittest.skipIf(sys.version_info < (3, 11), "a frame is not told from a running one")
    def test_a_frame_keeps_nothing_for_having_been_read(self):
        out = torch.empty(MIB)

        def fail(kept):
            raise ValueError(kept.nbytes)

        try:
            fail(out)
        except ValueError as e:
            frame = e.__traceback__.tb_next.tb_frame
        before = sys.getrefcount(out)
        self.assertEqual(paths._local(frame, out), " local kept")
        self.assertEqual(sys.getrefcount(out), before)
        running = sys._getframe()
        self.assertEqual(paths._local(running, running.f_back), " local")

    def test_what_is_kept_by_its_views_has_their_name(self):
        # As PyTorch does: a view's base is an object that only native code refers to.
        pool = []
        for _ in range(60):
            base = torch.empty(4 * MIB)
            views = [torch.Tensor(base.untyped_storage(), base.device, (MIB,)) for _ in range(4)]
            pool.append(views[1])
            self.hide(base)
            self.hide(views[3])
        del base, views
        self.keep(pool=pool)
        self.assertEqual(self.find(), {self.path("list M.pool"): (240 * MIB, 60)})

    def test_a_reference_cycle_is_said_to_be_one(self):
        import gc

        gc.disable()
        self.addCleanup(gc.enable)
        trainer = Trainer()
        trainer.last, trainer.me = torch.empty(MIB), trainer
        del trainer
        (path,) = self.find()
        self.assertIn("a reference cycle or native code", path)
        gc.collect()
        self.assertEqual(self.find(), {})

    def test_what_lived_at_the_survey_is_not_accused(self):
        self.keep(model=[torch.empty(MIB) for _ in range(5)])
        self.process.survivors = register.Register.of([self.framework])
        self.assertEqual(self.find(), {})

    def test_gradients_are_named_though_no_object_refers_to_them(self):
        weight = torch.empty(MIB)
        self.process.survivors = register.Register.of([self.framework])
        weight.requires_grad = True
        native = {"gradient": torch.empty(MIB)}  # C++ holds the real one
        type(weight).grad = property(lambda t: native["gradient"] if t is weight else None)
        self.addCleanup(lambda: setattr(torch.Tensor, "grad", None))
        self.keep(weight=weight)
        arrays = living.arrays([self.framework])
        found = ending._native([self.framework], arrays, arrays)
        self.assertEqual(found, {id(native["gradient"]): "gradient of a Tensor"})

    def test_a_fake_tensor_of_a_tracing_compiler_holds_nothing(self):
        fake = torch.empty(MIB)
        fake.untyped_storage().device = torch.empty(1, device="meta").device
        self.keep(traced=[fake])
        self.assertEqual(self.find(), {})

    def test_views_of_one_storage_count_once(self):
        whole = torch.empty(MIB)
        views = [torch.Tensor(whole.untyped_storage(), whole.device, (1,)) for _ in range(9)]
        self.keep(views=[whole] + views)
        del whole, views
        self.assertEqual(self.find(), {self.path("list M.views"): (MIB, 1)})

    def test_an_autograd_graph_is_charged_to_the_output_that_keeps_it(self):
        losses = []
        for _ in range(8):
            hidden = torch.operation("Linear", torch.empty(3 * MIB))
            losses.append(torch.operation("Mean", hidden))
        del hidden
        self.keep(losses=losses)
        del losses
        found = self.find()
        graph = self.path("list M.losses: autograd graph of Mean outputs")
        self.assertEqual(found[graph], (8 * (3 * MIB + 512), 8))
        self.assertEqual(found[self.path("list M.losses")], (8 * 512, 8))

    def test_tensors_that_only_a_graph_keeps_are_no_nameless_survivors(self):
        # PyTorch keeps the Python object of a saved tensor alive from C++.
        hidden = torch.empty(3 * MIB)
        loss = torch.operation("Pow", hidden)
        self.keep(losses=[loss])
        native = [hidden]
        del hidden, loss
        walked = upward.Walk._is_own
        self.addCleanup(setattr, upward.Walk, "_is_own", walked)
        upward.Walk._is_own = lambda walk, p: p is native or walked(walk, p)
        graph = self.path("list M.losses: autograd graph of Pow outputs")
        self.assertEqual(self.find(), {graph: (3 * MIB, 1), self.path("list M.losses"): (512, 1)})

    def test_a_total_that_was_there_before_has_what_its_graph_keeps(self):
        self.keep(total=torch.operation("Add", torch.empty(512)))
        self.process.survivors = register.Register.of([self.framework])
        hidden = torch.empty(3 * MIB)
        total.grad_fn = torch.operation("Add", hidden).grad_fn  # total += hidden
        native = [hidden]
        del hidden
        walked = upward.Walk._is_own
        self.addCleanup(setattr, upward.Walk, "_is_own", walked)
        upward.Walk._is_own = lambda walk, p: p is native or walked(walk, p)
        graph = self.path("M.total: autograd graph of Add outputs")
        self.assertEqual(self.find()[graph], (3 * MIB, 1))

    def test_parameters_are_the_models_though_the_optimizer_has_them_for_keys(self):
        weight = torch.empty(MIB)
        model = Trainer()
        model.__dict__["_parameters"] = {"weight": weight}
        self.keep(model=model, state={weight: {"momentum": torch.empty(2 * MIB)}})
        del weight, model
        self.assertEqual(
            self.find(),
            {
                self.path("M.model.weight"): (MIB, 1),
                self.path("dict M.state[…]['momentum']"): (2 * MIB, 1),
            },
        )

    def test_elements_that_differ_go_by_the_name_of_their_container(self):
        state = [{"mean": torch.empty(MIB), "square": torch.empty(MIB)} for _ in range(100)]
        self.keep(state=state)
        del state
        self.assertEqual(self.find(), {self.path("list M.state"): (200 * MIB, 200)})

    def test_what_everybody_refers_to_does_not_cost_the_others_their_names(self):
        shared = torch.empty(512)
        self.keep(readers=[[shared] for _ in range(100)], kept=[[[torch.empty(MIB)]] for _ in range(8)])
        del shared
        with unittest.mock.patch.object(upward, "MAX_WIDTH", 30):
            found = self.find()
        self.assertEqual(found[self.path("list M.kept[…][…][…]")], (8 * MIB, 8))
        self.assertEqual(found[self.path("list M.readers[…][…]")], (512, 1))

    def test_the_time_bound_is_kept_and_said(self):
        self.keep(history=[torch.empty(MIB)])
        found = ending.find(self.process, time.monotonic() - 1)
        self.assertIn("not found in time", found[0]["path"])

    def test_a_proxy_of_the_programs_is_never_asked(self):
        class Proxy:
            asked = False

            def __getattribute__(self, name):
                Proxy.asked = True
                raise RuntimeError(name)

        self.keep(proxy=[Proxy(), torch.empty(MIB)])
        self.assertEqual(self.find(), {self.path("list M.proxy"): (MIB, 1)})
        self.assertFalse(Proxy.asked)


class HostTest(unittest.TestCase):
    def test_without_arrays_the_containers_that_grew_are_named(self):
        process = types.SimpleNamespace(
            frameworks=[], survivors=register.Register.of([]), exiting=True
        )
        globals()["rows"] = [{"i": i} for i in range(5000)]
        self.addCleanup(lambda: globals().pop("rows"))
        found = ending.find(process, time.monotonic() + 20)
        own = [h for h in found if h["path"] == "list %s.rows" % __name__]
        self.assertEqual([h["count"] for h in own], [5000])
        self.assertGreater(own[0]["bytes"], 5000 * 64)

    def test_the_bytes_of_a_dict_are_those_of_its_values(self):
        process = types.SimpleNamespace(
            frameworks=[], survivors=register.Register.of([]), exiting=True
        )
        globals()["cache"] = {i: [None] * 1250 for i in range(3000)}  # 8 bytes an element
        self.addCleanup(lambda: globals().pop("cache"))
        found = ending.find(process, time.monotonic() + 20)
        (own,) = [h for h in found if h["path"] == "dict %s.cache" % __name__]
        self.assertEqual(own["count"], 3000)
        self.assertTrue(3000 * 10_000 < own["bytes"] < 3000 * 10_400, own["bytes"])

    def test_a_dict_of_numbers_that_was_there_before_is_not_accused(self):
        globals()["words"] = {str(i): i for i in range(3000)}  # the collector does not track it
        self.addCleanup(lambda: globals().pop("words"))
        process = types.SimpleNamespace(
            frameworks=[], survivors=register.Register.of([]), exiting=True
        )
        found = ending.find(process, time.monotonic() + 20)
        self.assertEqual([h for h in found if "words" in h["path"]], [])


if __name__ == "__main__":
    unittest.main()
