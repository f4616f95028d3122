"""What fills a container, and what its elements are: in coroutines, objects of libraries,
futures and caches."""

import asyncio
import collections
import concurrent.futures
import contextlib
import contextvars
import functools
import gc
import io
import itertools
import logging
import logging.handlers
import os
import queue
import re
import sched
import sys
import tempfile
import textwrap
import threading
import time
import types
import unittest
import unittest.mock
import warnings
import weakref

from gpumem_agent.frameworks import jax as jax_adapter
from gpumem_agent.frameworks import torch_jit
from gpumem_agent.holders import (
    calls,
    contents,
    ending,
    fillers,
    hooks,
    kinds,
    lines,
    logged,
    memos,
    naming,
    paths,
    states,
    texts,
    words,
)
from gpumem_agent.holders.states import LEAST, parts
from gpumem_agent.surveys import Surveys
from test_looks import Running

BLOB = 200_000


def text_of(entry):
    """The text of the first line that fills a holder."""
    file, _, number = entry["filled"].partition("; ")[0].rpartition(" ")[0].rpartition(":")
    with open(file) as source:
        return source.read().splitlines()[int(number) - 1]


class Model:
    """A class of which the test has a weak reference only."""

    def __init__(self):
        self.results = []

    def validate(self, wait):
        wait()


class Trainer:
    def fit(self, wait):
        model = Model()
        Trainer.told = weakref.ref(model)
        model.validate(wait)


def fetch(jobs):
    jobs.append(None)
    jobs.append(None)


async def crawl():
    jobs = []
    while True:
        await Pause()
        jobs.extend(bytes(BLOB) for _ in range(40))  # the line of the coroutine


class Car:
    def __init__(self):
        self.state = None


# Of a library; what it says of itself is no call.
KEEPING = '''
class Keeper:
    """Use it so: Keeper().prepare(item)."""

    def __init__(self):
        self.@ = []

    def prepare(self, item):
        return self._prepare_one(item)

    def _prepare_one(self, item):
        self.@.append(item)

    def use(self):
        """After prepare(item)."""
        if not self.@:
            raise ValueError("call prepare(item) before")


class Metric:
    """Has a method with a name that containers have, too."""

    def __init__(self):
        self.^, self._state = [], {}

    def update(self, item):
        self.^.append(item)

    def __call__(self, item):
        self.update(item)

    def state(self):
        self._state.update(a=1)
        return self._state
'''.replace("@", "_kept").replace("^", "_rows")


# Of a library in files: the way from the first class to the last, and a shorter one by a method.
LADEN = {
    "__init__": """
        from laden.inner import Inner

        class Front:
            def __init__(self):
                self.inner = Inner()
                self.shown = self.inner.table[0].shown

            def load(self, item):
                self.inner.take_in(item)
        """,
    "inner": """
        from laden.leaf import Leaf

        class Inner:
            def __init__(self):
                self.table = (Leaf(),)

            def take_in(self, item):
                self.table[0].enter(item)
        """,
    "leaf": """
        class Leaf:
            def __init__(self):
                self._kept = []

            def enter(self, item):
                self._kept.append(item)

            def shown(self):
                return self._kept
        """,
}


# Functions, and whether what they fill is a cache.
MEMOS = (
    ("x = self.kept.get((a, b))\nif x is None:\n    x = made(a, b)\n    self.kept[a, b] = x\nreturn x\n", True),
    ("if (a, b) not in kept:\n    kept[a, b] = made(a, b)\nreturn kept[a, b]\n", True),
    ("x = self.kept.get((a, c))\nif x is None:\n    x = made(a, b)\n    self.kept[a, b] = x\nreturn x\n", False),
    # Worked out together, of those that were asked for the ones that it did not have.
    ("""def get(texts):
    answer = {text: kept[text] for text in texts if text in kept}
    for text, vector in zip(*run([text for text in texts if text not in answer])):
        answer[text] = vector
        kept[text] = answer[text]
    return answer
""", True),
    # All are carried on.
    ("""def get(users):
    states = {user: kept[user] for user in users if user in kept}
    for user, state in run(states):
        kept[user] = state
    return states
""", False),
    ("def get(key):\n if key in kept:\n  return kept[key]\n value = make(key)\n kept[key] = value\n return value\n", True),
    ("def get(key):\n if key in kept:\n  return None\n value = make(key)\n kept[key] = value\n", False),
    ("def get(key):\n if key in kept:\n  return kept[other]\n value = make(key)\n kept[key] = value\n return value\n", False),
    ("def get(k):\n    if k not in kept:\n        kept[k] = make(k)\n    return kept[k]\n", True),
    ("def get(self, h, w):\n    if (h, w) not in self.kept:\n        self.kept[(h, w)] = make(h)\n", True),
    ("def get(k):\n    v = kept.get(k)\n    if v is None:\n        v = make(k)\n        kept[k] = v\n"
     "    return v\n", True),
    ("def get(all, r):\n    kept = all[r.who]\n    if r.what in kept:\n        hit()\n    else:\n"
     "        kept[r.what] = make(r)\n    return kept[r.what]\n", True),
    ("def get(r):\n    if r.what in kept:\n        hit()\n    else:\n        kept[r.what] = make(r)\n", False),
    ("def get(keys):\n    new = {k: 0 for k in keys if k not in kept}\n    kept.update(zip(new, make(new)))  # kept[k] =\n"
     "    return [kept[k] for k in keys]\n", True),
    ("def get(new):\n    kept.update(zip(new, make(new)))  # kept[k] =\n    return [kept[k] for k in new]\n", False),
    ("def get(k):\n    if k not in kept:\n        kept[k] = []\n    kept[k].append(1)\n", False),
    ("def get(k):\n    if k not in kept:\n        kept[k] = set()\n", False),
    ("def get(task):\n    if task - 1 in kept:\n        use(kept[task - 1])\n    kept[task] = make()\n", False),
    ("def get(k):\n    kept[k] = make(k)\n", False),
    ("def get(k):\n    v = self.kept.setdefault(k, Made(k))  # kept[k] =\n    return v\n", True),
    ("def get(k):\n    rows = kept.setdefault(k, [])  # kept[k] =\n    rows.append(1)\n", False),
    ("def get(k):\n    rows = kept.setdefault(k, collections.deque())  # kept[k] =\n    rows.append(1)\n", False),
    ("def get(k, v):\n    kept.setdefault(k, v)  # kept[k] =\n", False),
    ("def get(k, v):\n    if k not in kept:\n        kept[k] = v\n", False),
    ("def get(k):\n    if k not in kept: kept[k] = make(k)\n    return kept[k]\n", True),
    ("def run(k):\n    if k not in kept:\n        v = make(k)\n        kept[k] = v\n    kept[k].go()\n", True),
    ("def run(k):\n    v = kept.get(k)\n    if v is None:\n        v = make(k)\n        kept[k] = v\n    v.go()\n", True),
    ("def run(k, v):\n    if k not in kept:\n        v = other\n        kept[k] = v\n", False),
    ("def run(k):\n    v = make(k)\n    if k not in kept:\n        kept[k] = v\n", False),
    ("def other(k):\n    if k not in kept:\n        pass\n\n\ndef get(k):\n    kept[k] = make(k)\n", False),
)


class Knot:
    pass


class Pause:
    def __await__(self):
        yield


def line_of(words):
    """The place of a line of this file that ends in some words."""
    with open(__file__) as source:
        ends = [line.rstrip().endswith("# the line of " + words) for line in source]
    return "%s:%d" % (__file__, ends.index(True) + 1)


trail = contextvars.ContextVar("trail", default=[None])


def walk():
    trail.get().append(1)  # the line of the trail


class Chest:
    def __init__(self):
        self.__kept = []

    def fill(self):
        self.__kept.append(bytes(BLOB))  # the line of the chest

    @functools.cached_property
    def contents(self):
        return bytearray(BLOB)  # the line of the contents


class Shelf(dict):
    def put(self, key, value):
        self[key] = value  # the line of the shelf


class Stack(list):
    def push(self, value):
        super().append(value)  # the line of the stack


def remember(item, into=[]):
    into.append(item)  # the line of the default


class Firing:
    def __init__(self, number):
        self.number = number


class Reply(collections.namedtuple("Reply", "number text")):
    """What was answered."""


class Tile(collections.namedtuple("Tile", "number")):
    """Is equal to another of its number."""


class FillersTest(unittest.TestCase):
    def setUp(self):
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

    def test_a_variable_of_a_coroutine_has_its_functions_name_and_line(self):
        coroutine = crawl()
        coroutine.send(None)
        self.addCleanup(coroutine.close)
        self.keep(waiting=types.SimpleNamespace(runner=coroutine))
        coroutine.send(None)
        self.look()
        coroutine.send(None)
        found = self.look()
        self.assertIn("list crawl() local jobs", found)
        self.assertEqual(
            found["list crawl() local jobs"]["filled"], line_of("the coroutine") + " crawl"
        )

    def test_a_variable_has_the_lines_of_its_own_function(self):
        source = """
            def other():
                kept.append(0)

            def train(
                clock,
            ):
                kept = []

                def keep(x):
                    kept.append(x)
                kept += clock

            def last():
                kept.append(1)
            """
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            of_train = fillers.Filler("kept", file.name, False, line=4)
            self.assertEqual(of_train.sites(), [file.name + ":10 keep", file.name + ":11 train"])
            of_last = fillers.Filler("kept", file.name, False, line=13)
            self.assertEqual(of_last.sites(), [file.name + ":14 last"])
            of_none = fillers.Filler("kept", file.name, False, line=99)
            self.assertEqual(of_none.sites(), [file.name + ":2 other", file.name + ":10 keep"])

    def test_a_container_that_is_filled_by_another_name_has_these_lines(self):
        source = """
            def each(columns):
                for number, column in enumerate(columns):
                    column.append(number)
                    other.append(number)

            def one(self):
                rows = self.columns.get(7) or []
                rows.append(1)
                rows = None

            def method(columns):
                add = columns.append
                add(1)
                (columns).add(2)

            def other(column):
                column.append(2)
            """
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            variable = fillers.Filler("columns", file.name, False)
            self.assertEqual(variable.sites(), [file.name + ":3 each", file.name + ":13 method"])
            of_method = fillers.Filler("columns", file.name, False, line=11)
            self.assertEqual(of_method.sites(), [file.name + ":13 method"])
            of_object = fillers.Filler("columns", file.name, True)
            self.assertEqual(of_object.sites(), [file.name + ":8 one"])

    def test_an_attribute_that_only_a_copy_gets_longer_has_the_line_that_copies(self):
        source = """
            def advance(run, coral):
                run = dataclasses.replace(
                    run, step=run.step + 1, frames=run.frames + (coral,)
                )
                return run, run.frames == (coral,)
            """
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            of_object = fillers.Filler("frames", file.name, True)
            self.assertEqual(of_object.sites(), [file.name + ":3 advance"])

    def test_a_queue_that_a_thread_fills_by_a_name_of_its_own_has_its_line(self):
        source = """
            def main():
                scans = queue.Queue()
                Reader(scans).start()
                scans.get()

            def read(out):
                out.put(scan)
            """
        methods, files = calls.methods_of(queue.Queue()), (queue.__file__,)
        for more, found in ((0, [8]), (1, [8, 9]), (2, [])):  # of many it is any
            with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
                file.write(textwrap.dedent(source)[1:] + "    others.put(scan)\n" * more)
                file.flush()
                with unittest.mock.patch.object(texts, "program_files", lambda: [file.name]):
                    receiver = "scans%d" % more  # what was asked is remembered
                    sites = calls.Called("queue", files, receiver, methods).sites()
                    installed = calls.Called("queue", (*files, "/opt/site-packages/a.py"), receiver, methods)
                    self.assertEqual(installed.sites(), [], "another library's")
            self.assertEqual(sites, ["%s:%d read" % (file.name, line - 1) for line in found])

    def test_a_cache_around_a_librarys_decorator_has_the_line_of_the_function(self):
        @functools.lru_cache(maxsize=None)
        @contextlib.contextmanager
        def opened(number):
            yield bytes(number)

        self.assertEqual(kinds.wrapped_code(opened).co_filename, __file__)
        self.assertEqual(kinds.wrapped_code(opened).co_name, "opened")

    def test_what_hooks_of_many_modules_have_has_the_line_of_the_hooks(self):
        source = """
            class Adapter:
                def hook(self):
                    up = make()
                    return lambda output: output + up

            def switch(modules):
                for module in modules.values():
                    module.register_forward_hook(Adapter().hook())
            """
        layer = types.SimpleNamespace(_forward_hooks=collections.OrderedDict({1: print}))
        layers = {"first": layer}
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            chain = [layers, layer, vars(layer), layer._forward_hooks, print]
            (found,) = hooks.filler(chain, 0, {})
            with unittest.mock.patch.object(texts, "program_files", lambda: [file.name]):
                self.assertEqual(found.sites(), [file.name + ":8 switch"])
        self.assertIsNone(hooks.filler(chain, 4, {}), "below the hooks")

    def test_a_list_that_a_hook_fills_has_its_line_beside_that_which_registers_the_hook(self):
        source = """
            def mean_code(model):
                seen = []

                def note(module, inputs, output):
                    seen.append(output)

                model.register_forward_pre_hook(note)
                return seen, note
            """
        layer = types.SimpleNamespace(_forward_pre_hooks=collections.OrderedDict())
        layer.register_forward_pre_hook = lambda hook: layer._forward_pre_hooks.update({1: hook})
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            names = {}
            exec(compile(textwrap.dedent(source)[1:], file.name, "exec"), names)
            seen, note = names["mean_code"](layer)
            chain = [layer, vars(layer), layer._forward_pre_hooks, note, note.__closure__, note.__closure__[0], seen]
            with unittest.mock.patch.object(texts, "program_files", lambda: [file.name]):
                (found,) = hooks.filler(chain, 2, {})
                self.assertEqual(found.sites(), [file.name + ":7 mean_code", file.name + ":5 note"])

    def test_what_a_timer_waits_with_has_the_line_that_makes_the_timer(self):
        source = """
            class Reader:
                def __init__(self, args):
                    self.args = args

            def deploy(version):
                timer = threading.Timer(900, Reader, args=(version, [version]))
                timer.start()
            """
        timer = threading.Timer(900, print, args=(1, [1]))
        fillers._places.cache_clear()  # of what other tests have asked
        self.addCleanup(fillers._places.cache_clear)
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            chain = [object(), timer, vars(timer), timer.args, timer.args[1]]
            with unittest.mock.patch.object(texts, "program_files", lambda: [file.name]):
                (found,) = lines.filler(chain, 3, {})
                self.assertEqual(found.sites(), [file.name + ":6 deploy"])
        self.assertEqual(words.kind_of(chain, 3), "timers-left")
        self.assertIsNone(words.kind_of([object(), threading.Thread(), {}, (), []], 3))

    def test_hooks_have_the_line_that_registers_them(self):
        source = """
            class Probe:
                def __init__(self, conv):
                    self.handle = conv.register_message_forward_hook(self.listen)

            def run(model):
                return model._message_forward_hooks.keys()
            """
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            for name in ("_message_forward_hooks", "_forward_pre_hooks", "_optimizer_step_post_hooks"):
                self.assertEqual(fillers.Filler(name, file.name, True).sites(), [file.name + ":3 __init__"], name)
            self.assertEqual(fillers.Filler("_own_hooks", file.name, True).sites(), [])

    def test_cached_properties_and_private_names_have_their_lines(self):
        chest = Chest()
        self.keep(chest=chest)
        chest.fill()
        self.assertEqual(len(chest.contents), BLOB)
        for name, kind, site in (
            ("_Chest__kept", "filled", line_of("the chest") + " fill"),
            ("contents", "assigned", line_of("the contents") + " contents"),
        ):
            chain = [vars(sys.modules[__name__]), chest, vars(chest), vars(chest)[name]]
            facts = paths.Path(chain, kinds.module_names()).facts()
            self.assertEqual(fillers.places(facts[kind]), [site])

    def test_what_a_function_that_is_made_again_has_was_assigned_to_its_variable(self):
        def keep(best):
            return lambda: best

        best = {number: bytes(BLOB) for number in range(40)}  # the line of the best
        self.keep(last=keep(best))
        (cell,) = last.__closure__
        chain = [vars(sys.modules[__name__]), last, last.__closure__, cell, best, best[0]]
        path = paths.Path(chain, kinds.module_names())
        self.assertTrue(path.of_container().endswith(".last closure best"))
        facts = path.facts()
        self.assertEqual(fillers.places(facts["filled"]), [])
        name = "test_what_a_function_that_is_made_again_has_was_assigned_to_its_variable"
        self.assertEqual(fillers.places(facts["assigned"]), [line_of("the best") + " " + name])

    def test_a_closures_variable_has_the_lines_of_the_function_around(self):
        source = """
            def other():
                kept.append(0)

            def make():
                kept = []

                def add(x):
                    kept.append(x)

                def last():
                    return kept[-1]
            """
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            of_last = fillers.Filler("kept", file.name, False, line=10)
            self.assertEqual(of_last.sites(), [file.name + ":8 add"])
            self.assertEqual([texts.outer(file.name, line) for line in (1, 4, 7, 10, 0, 99)], [0, 0, 4, 4, 0, 0])

    def test_lines_in_a_loop_come_before_those_that_run_once(self):
        source = """
            kept.append(0)

            def train(jobs):
                kept.append(1)
                for name in jobs:
                    start(name)
                kept.append(2)
                while jobs:
                    if jobs.pop():
                        kept.append(3)
                    else:
                        def later():
                            kept.append(4)

            def keep(job):
                kept.append(job)

            for job in make():
                kept.append(job)
            """
        text = textwrap.dedent(source)[1:]
        looped, without = (10, 13, 16, 19, 1, 4, 7), (4, 7, 10, 13, 16, 19, 1)
        for text, order in ((text, looped), (text.replace("while", "if"), without)):
            with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
                file.write(text)
                file.flush()
                found = texts.search(file.name, texts.adds_to("kept", r"(?<![\w.])"), "kept")
            self.assertEqual([int(site.split()[0].rpartition(":")[2]) for site in found], list(order))

    def test_functions_that_add_to_what_they_are_given_fill_it(self):
        source = """
            def keep(self, entry):
                heapq.heappush(self.kept, entry)
                insort_left(kept, entry, key=len)
                (heappush if len(self.kept) < 9 else heapreplace)(self.kept, entry)
                heapq.heappop(self.kept)
                heapq.heappush(self.others, self.kept)
            """
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            of_object, variable = fillers.Filler("kept", file.name, True), fillers.Filler("kept", file.name, False)
            self.assertEqual(of_object.sites(), ["%s:%d keep" % (file.name, n) for n in (2, 4)])
            self.assertEqual(variable.sites(), [file.name + ":3 keep"])

    def test_an_attribute_that_the_program_gave_a_librarys_object_has_its_line(self):
        layer = logging.Logger("of a library")
        layer.saved = []
        self.keep(layer=layer)
        self.look()
        layer.saved.extend(bytes(BLOB) for _ in range(40))  # the line of the attribute
        (told,) = [h for path, h in self.look().items() if path.endswith("layer.saved")]
        self.assertTrue(told["filled"].startswith(line_of("the attribute")), told)

    def library(self):
        """A module that is installed."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.makedirs(os.path.join(folder.name, "keeping-1.0.dist-info"))
        with open(os.path.join(folder.name, "keeping.py"), "w") as source:
            source.write(KEEPING)
        sys.path.insert(0, folder.name)
        self.addCleanup(sys.path.remove, folder.name)
        self.addCleanup(sys.modules.pop, "keeping", None)
        return __import__("keeping")

    def test_a_method_of_a_common_name_leads_there_where_it_fills_itself(self):
        self.keep(shown=self.library().Metric())
        self.look()
        for _ in range(40):
            shown.state()
            shown.update(bytes(BLOB))  # the line of updates
        (told,) = [h for path, h in self.look().items() if path.endswith("shown._rows")]
        self.assertTrue(told["filled"].startswith(line_of("updates")), told)
        self.assertNotIn(";", told["filled"])

    def test_what_is_called_itself_leads_there_where_no_method_does(self):
        self.keep(counted=self.library().Metric())
        self.look()
        for _ in range(40):
            counted.state()
            counted(bytes(BLOB))  # the line of the call itself
        (told,) = [h for path, h in self.look().items() if path.endswith("counted._rows")]
        self.assertTrue(told["filled"].startswith(line_of("the call itself")), told)

    def test_a_list_in_a_container_of_modules_has_its_own_lines_and_length(self):
        kind = type("ModuleDict", (), {"__module__": "torch.nn.modules.container"})
        metrics = kind()
        metrics._modules = {"a": types.SimpleNamespace(seen_rows=[])}
        self.keep(metrics=metrics)
        self.look()
        for _ in range(40):
            metrics._modules["a"].seen_rows.append(bytes(BLOB))  # the line of the rows
        (told,) = [h for path, h in self.look().items() if path.endswith("metrics[…].seen_rows")]
        self.assertTrue(told["filled"].startswith(line_of("the rows")), told)
        self.assertEqual(told["length"], 40)

    def test_what_a_library_keeps_has_the_programs_call_that_leads_there(self):
        self.keep(keeper=self.library().Keeper())
        self.look()
        for _ in range(40):
            keeper.prepare(bytes(BLOB))  # the line of calls
            keeper.use()
        (told,) = [h for path, h in self.look().items() if path.endswith("keeper._kept")]
        name = "test_what_a_library_keeps_has_the_programs_call_that_leads_there"
        self.assertEqual(told["filled"], "%s %s" % (line_of("calls"), name))

    def test_the_call_is_found_where_a_method_leads_past_what_does_it(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.makedirs(os.path.join(folder.name, "laden-1.0.dist-info"))
        os.makedirs(os.path.join(folder.name, "laden"))
        for name, source in LADEN.items():
            with open(os.path.join(folder.name, "laden", name + ".py"), "w") as file:
                file.write(textwrap.dedent(source))
            self.addCleanup(sys.modules.pop, ("laden." + name).replace(".__init__", ""), None)
        sys.path.insert(0, folder.name)
        self.addCleanup(sys.path.remove, folder.name)
        self.keep(front=__import__("laden").Front())
        self.look()
        for _ in range(40):
            front.load(bytes(BLOB))  # the line of loads
        (told,) = [h for path, h in self.look().items() if path.endswith("front.shown.__self__._kept")]
        self.assertTrue(told["filled"].startswith(line_of("loads")), told)

    def test_what_an_optimizer_has_for_its_parameters_has_the_line_that_gives_it_more(self):
        kind = type("Optimizer", (), {"__module__": "torch.optim.optimizer"})
        kind.add_param_group = lambda self, group: dict.__setitem__(self.state, len(self.state), group)
        other = type("Other", (kind,), {"__module__": "torch.optim.other"})  # a file of nobody
        self.keep(optimizer=other())
        vars(optimizer).update(state={})
        self.look()
        for _ in range(40):
            optimizer.add_param_group({"params": [bytes(BLOB)]})  # the line of the group
        (told,) = [h for path, h in self.look().items() if path.endswith("optimizer.state")]
        self.assertTrue(told["filled"].startswith(line_of("the group")), told)

    def test_the_default_of_a_context_variable_has_the_lines_that_add_to_its_value(self):
        chain = [vars(sys.modules[__name__]), trail, trail.get()]
        path = paths.Path([*chain, None], kinds.module_names())
        self.assertEqual(str(path), "list %s.trail.get()" % __name__)
        self.assertEqual(fillers.places(path.facts()["filled"]), [line_of("the trail") + " walk"])

    def test_a_default_has_the_lines_of_its_function(self):
        chain = [vars(sys.modules[__name__]), remember, remember.__defaults__, remember.__defaults__[0]]
        path = paths.Path(chain, kinds.module_names())
        self.assertEqual(path.of_kind(), "list %s.remember() default into" % __name__)
        self.assertEqual(fillers.places(path.facts()["filled"]), [line_of("the default") + " remember"])

    def test_what_is_made_from_a_container_has_the_lines_of_its_methods(self):
        for container, site in (
            (Shelf(), line_of("the shelf") + " put"),
            (Stack(), line_of("the stack") + " push"),
        ):
            self.keep(made=container)
            chain = [vars(sys.modules[__name__]), made]
            facts = paths.Path(chain, kinds.module_names()).facts()
            self.assertEqual(fillers.places(facts["filled"]), [site])

    def test_a_user_dictionary_has_the_lines_that_add_to_its_name(self):
        self.keep(borrowed=collections.UserDict())
        borrowed["one"] = 1  # the line of what is borrowed
        chain = [vars(sys.modules[__name__]), borrowed, vars(borrowed), borrowed.data]
        facts = paths.Path(chain, kinds.module_names()).facts()
        name = "test_a_user_dictionary_has_the_lines_that_add_to_its_name"
        self.assertEqual(fillers.places(facts["filled"]), ["%s %s" % (line_of("what is borrowed"), name)])

    def test_what_is_told_in_a_text_is_not_assigned(self):
        assigned = re.compile(fillers.ASSIGNED % r"\.loss")
        for text, found in (
            ("record.loss = loss", True),
            ("self.loss: Tensor = loss", True),
            ("best.loss, best.step = loss, 4", True),
            ("""print(f"best {best.loss:.4f} of all", flush=True)""", False),
            ("""f"best {best.loss:.4f} of all", flush=True)""", False),
        ):
            self.assertIs(bool(assigned.search(text)), found, text)

    def test_lines_that_give_an_optimizer_more_parameters(self):
        adds = re.compile(fillers.ADDERS[fillers.GROUPS])
        for text, found in (
            ("optimizer.add_param_group(group)", True),
            ("optimizer.param_groups[0]['params'].append(weight)", True),
            ('group["params"] += more', True),
            ("group['params'] = list(model.parameters())", True),
            ("if group['params'] == more:", False),
            ("for weight in group['params']:", False),
            ("optimizer = Adam([{'params': weights}])", False),
            ("self.optimizer." "state[table] = {'step': step, **averages}", True),
            ("opt." "state[new] = opt." "state.pop(old)", True),
            ("if optimizer." "state[table] == known:", False),
            ("self." "state[number] = values", False),
        ):
            self.assertIs(bool(adds.search(text)), found, text)

    def test_an_array_has_the_line_that_makes_it_not_one_that_stores_into_it(self):
        source = """
            class Upload:
                def __init__(self):
                    self.plan = torch.zeros(SIDE, SIDE)
                    self.sums = torch.zeros(SIDE)

                def piece(self, place, lines):
                    self.plan[place] = lines
                    self.sums += lines.sum(1)
                    self.left[place] = lines
            """
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(source)[1:])
            file.flush()
            for name, is_array, site in (
                ("plan", True, ":3 __init__"),
                ("plan", False, ":7 piece"),
                ("sums", True, ":8 piece"),
                ("left", True, ":9 piece"),
            ):
                found = fillers.Filler(name, file.name, True, True, is_array=is_array).sites()
                self.assertEqual(found, [file.name + site])

    def test_what_is_assigned_below_a_container_has_the_line_that_does_so(self):
        self.keep(cars=[Car() for _ in range(4)])
        for car in cars:
            car.state, car.seen = (bytes(BLOB),), 1  # the line of the state
        chain = [vars(sys.modules[__name__]), cars, cars[1], vars(cars[1]), cars[1].state]
        if vars(cars[1]) not in gc.get_referents(cars[1]):
            del chain[3]
        facts = paths.Path(chain, kinds.module_names()).facts()
        self.assertEqual(fillers.places(facts["filled"]), [])
        name = "test_what_is_assigned_below_a_container_has_the_line_that_does_so"
        self.assertEqual(fillers.places(facts["assigned"]), [line_of("the state") + " " + name])

    def test_what_is_filled_below_a_constant_key_has_the_line_with_that_key(self):
        self.keep(state={"frame": 0, "outputs": {"other": {}, "kept": {}}})

        def add(outputs, number):
            outputs["other"][number % 2] = None
            outputs["kept"][number] = bytes(BLOB)  # the line of the key
            state["frame"] = number

        self.look()
        for number in range(40):
            add(state["outputs"], number)
        (told,) = [h for path, h in self.look().items() if path.endswith("['kept']")]
        self.assertEqual(told["filled"], line_of("the key") + " add")

    def test_a_line_adds_below_a_constant_key(self):
        for text, is_one in (
            ('kept["out"].append(x)', True),
            ("kept['out'][n] = x", True),
            ('kept["out"]["rows"] += x', True),
            ('kept.setdefault("out", []).append(x)', True),
            ('kept["outer"].append(x)', False),
            ('kept["out"] = x', False),
            ('kept["out"] == x', False),
            ('print(kept["out"])', False),
            ('kept.setdefault("out", [])', False),
        ):
            self.assertEqual(texts.adds_below("out").search(text) is not None, is_one, text)

    def test_what_a_text_says_of_a_line_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "meta.py")
            with open(file, "w") as source:
                source.write('"""Meta, which\ncalls kept.append(x)."""\nx = """one"""\nkept.append(x)\n')
            found = texts.search(file, texts.adds_to("kept", r"(?<![\w.])"), "kept")
            self.assertEqual(found, [file + ":4 <module>"])

    def test_an_assignment_of_a_beginning_is_none(self):
        for text, is_one in (
            ("self.h = cell(x)", True),
            ("score, car.h = step(x, y)", True),
            ("car.h, car.c = step(x, y)", True),
            ("self.h: Tensor = cell(x)", True),
            ("self.h = None", False),
            ("self.h = []", False),
            ("self.h = 0.0", False),
            ("self.h = torch.zeros(4, 4)", False),
            ("if self.h == cell(x):", False),
            ("y = step(self.h)", False),
        ):
            found = re.search(fillers.ASSIGNED % r"\.h", text)
            self.assertEqual(found is not None, is_one, text)

    def test_what_is_put_back_by_the_key_that_it_came_by_is_a_session(self):
        for number, (text, is_one) in enumerate((
            ("talk = self.talks.get(name)\ntalk = model(x, talk)\nself.talks[name] = talk", True),
            ("talk, n = self.talks.get(name, None), 0\nself.talks[name] = talk", True),
            ("talk = self.talks[name]\nself.talks[name] = talk", True),
            ("talk = self.talks.get(name)\nif talk is None:\n    talk = begin()\n    self.talks[name] = talk", False),
            ("talk = self.talks.get(other)\nself.talks[name] = talk", False),
            ("talk = self.words.get(name)\nself.talks[name] = talk", False),
            ("talk = model(x, self.talks)\nself.talks[name] = talk", False),
            ("mean = self.means.get(name)\nself.means[name] = .9 * mean + loss", False),
        )):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "talks%d.py" % number)
                with open(file, "w") as source:
                    source.write("def answer(self, name, x):\n    " + text.replace("\n", "\n    ") + "\n")
                site = "%s:%d answer" % (file, text.count("\n") + 2)
                self.assertEqual(memos.carries_on(site), is_one, text)

    def test_a_dictionary_whose_entries_are_taken_out_again_is_a_register(self):
        for number, (text, is_one) in enumerate((
            ("self.open[n] = x\nawait work()\ndel self.open[n]", True),
            ("self.open[n] = x\nself.open.pop(n, None)", True),
            ("self.open[n] = x\nwork()\ndel self.kept[n], self.open[n]", True),
            ("self.open[n] = x", False),
            ("self.open[hall][n] = x\nself.open[hall].pop(n)", True),
            ("self.open[n] = x\ndel self.opener[n]", False),
            ("self.open[n] = x\nself.open.popitem()", False),
            ("pages = self.open.setdefault(x, [])\ndel self.open[x]", True),
            ("pages = self.open.setdefault(x, [])\ndel self.closed[x]", False),
        )):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "open%d.py" % number)
                with open(file, "w") as source:
                    source.write(text + "\n")
                self.assertEqual(memos.registers(file + ":1 answer"), is_one, text)
        self.assertFalse(memos.registers("/nowhere.py:1 answer"))

    def test_a_deque_of_which_single_elements_are_taken_is_a_queue(self):
        for number, (text, is_one) in enumerate((
            ("self.waiting.append(x)\ny = self.waiting.popleft()", True),
            ("waiting.appendleft(x)\ny = waiting.pop()", True),
            ("self.waiting.append(x)", False),
            ("self.waiting.append(x)\ny = self.waiting.pop()", False),
            ("self.waiting.append(x)\nself.others.popleft()", False),
            ("self.waiting.append(x)\nself.waiting.clear()", False),
        )):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "waiting%d.py" % number)
                with open(file, "w") as source:
                    source.write(text + "\n")
                site = [file + ":1 note"]
                kind = {"kind": "unbounded-queue"} if is_one else {}
                self.assertEqual(memos.kind_of("deque M.monitor.waiting", site), kind, text)
                self.assertEqual(memos.kind_of("list M.monitor.waiting", site), kind, text)
                self.assertEqual(memos.kind_of("set M.monitor.waiting", site), {}, text)

    def test_a_list_of_which_elements_are_taken_is_a_queue_a_heap_or_a_register(self):
        for number, (text, kind) in enumerate((
            ("self.waiting.append(x)\ny = self.waiting.pop(0)", "unbounded-queue"),
            ("self.waiting.append(x)\ny = self.waiting.pop()", None),
            ("heapq.heappush(self.waiting, (2, x))\ny = heapq.heappop(self.waiting)", "unbounded-queue"),
            ("heappush(waiting, x)\ny = [heappop(waiting) for _ in range(2)]", "unbounded-queue"),
            ("heappush(waiting, x)\ny = heappop(others)", None),
            ("heapq.heappush(self.timers, x)\ny = heapq.heappop(self.timers)", "timers-left"),
            ("self.waiting.append(x)\nself.waiting.remove(x)", "entries-left"),
            ("self.waiting.append(x)\nself.waiting = [w for w in self.waiting if w.busy]", "entries-left"),
            ("self.waiting.append(x)\nself.waiting[:] = [w for w in waiting if w.busy]", "entries-left"),
            ("self.waiting.append(x)\nnames = [w.name for w in self.waiting if w.busy]", None),
            ("self.waiting.append(x)\nself.others.remove(x)", None),
            ("self.waiting.append(x)\ndel self.waiting[3]", "entries-left"),
            ("self.waiting.append(x)\ndel self.waiting[:-9]", None),
            ("self.waiting.append(x)\nwhile self.waiting[0].at < now:\n    self.waiting.pop(0)", memos.UNREACHED),
            ("waiting.append(x)\nif len(waiting) > most:\n    del waiting[:-most]", memos.UNREACHED),
            ("waiting.append(x)\nif waiting:\n    return waiting.pop(0)", "unbounded-queue"),
            ("waiting.append(x)\nif len(others) > most:\n    waiting.pop(0)", memos.UNREACHED),
            ("waiting.append(x)\n\ndef expire():\n    while waiting[0].at < now:\n        waiting.pop(0)",
             memos.UNREACHED),
            ("waiting.append(x)\n\ndef work():\n    while not waiting[0].done():\n        waiting.pop(0)",
             "unbounded-queue"),
        )):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "taken%d.py" % number)
                with open(file, "w") as source:
                    source.write(text + "\n")
                wanted = {"kind": kind} if kind else {}
                self.assertEqual(memos.kind_of("list M.rack.waiting", [file + ":1 note"]), wanted, text)

    def test_what_is_to_be_done_later_is_on_a_heap_of_timers(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "looped.py")
            with open(file, "w") as source:
                source.write("heapq.heappush(self.heap, one)\ny = heapq.heappop(self.heap)\n")
            for function, kind in (("call_later", "timers-left"), ("add_timer", "timers-left"), ("put", "unbounded-queue")):
                found = memos.kind_of("list main() local loop.heap", ["%s:1 %s" % (file, function)])
                self.assertEqual(found, {"kind": kind}, function)

    def test_the_statement_that_adds_a_row_may_be_a_constant(self):
        for text, is_one in (
            ('db.execute("insert into t values (?)", (x,))', True),
            ("self.db.execute(INSERT, (digest, body))", True),
            ("db.executemany(sql.INSERT_ROWS, rows)", True),
            ("db.execute(SQL_UPSERT)", True),
            ("db.execute(SELECT, (digest,))", False),
            ("db.execute(inserted_since, (t,))", False),
            ('db.execute("select x from t")', False),
        ):
            found = re.search(fillers.ADDERS[fillers.DATABASE], text)
            self.assertEqual(found is not None, is_one, text)

    def test_a_function_that_is_made_between_is_no_end_of_the_one_around_it(self):
        text = """class Ice:
    def program(self, key):
        if key not in self.programs:
            trace = blade(key)

            def drive(ice):
                return ice * trace

            self.programs[key] = jit(drive)
        return self.programs[key]

    def other(self, key):
        self.made[key] = jit(key)
"""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "ice.py")
            with open(file, "w") as source:
                source.write(text)
            found = memos.kind_of("dict main() local ice.programs", [file + ":9 program"], True)
            self.assertEqual(found, {"kind": "cache-without-bound"})
            self.assertFalse(memos.remembers(file + ":13 other"))

    def test_a_line_adds_a_state_by_the_name_that_it_has(self):
        for number, (text, is_one) in enumerate((
            ("cls.states.append((step, state))", True),
            ("history.append(state.params)", True),
            ("kept[step] = opt_state, weights", True),
            ("kept.append(jax.device_get(params))", True),
            ("states.append(loss)", False),
            ("kept.append(state[0])", False),
            ("kept.append(state.step)", False),
            ("kept.append(losses)  # beside the state", False),
        )):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "state%d.py" % number)
                with open(file, "w") as source:
                    source.write(text + "\n")
                self.assertEqual(states.keeps_state(file + ":1 note"), is_one, text)
                is_weights = is_one and "params" in text or "weights" in text
                self.assertEqual(states.keeps_weights(file + ":1 note"), is_weights, text)
        self.assertFalse(states.keeps_state("/nowhere.py:1 note"))
        self.assertFalse(states.keeps_weights("/nowhere.py:1 note"))

    def test_a_line_adds_a_state_of_which_it_had_made_a_copy(self):
        for number, (text, is_one) in enumerate((
            ("copied = jax.tree_util.tree_map(jnp.copy, weights)\nself.shelf[epoch] = (error, copied)", True),
            ("fittest = copy.deepcopy(self.params)\nkept.append(fittest)", True),
            ("copied = tree_map(lambda leaf: jnp.array(leaf, copy=True), policy)\nself.rivals[n] = copied", True),
            ("doubled = jax.tree.map(lambda leaf: 2 * leaf, policy)\nkept.append(doubled)", False),
            ("copied = jnp.copy(losses)\nkept[epoch] = copied", False),
            ("out = predict(weights)\nkept.append(out)", False),
            ("copied = copy.copy(state)\nkept.append(other)", False),
            ("def before(state):\n    copied = copy.copy(state)\ndef note(copied):\n    kept.append(copied)", False),
        )):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "copied%d.py" % number)
                with open(file, "w") as source:
                    source.write(text + "\n")
                site = "%s:%d note" % (file, text.count("\n") + 1)
                self.assertEqual(states.keeps_state(site), is_one, text)

    def test_a_dictionary_that_is_filled_when_it_has_no_such_key_is_a_cache(self):
        for number, (text, is_one) in enumerate(MEMOS):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "memo%d.py" % number)
                with open(file, "w") as source:
                    source.write(text)
                fills = [n for n, line in enumerate(text.splitlines(), 1) if "kept[" in line and "] =" in line]
                found = memos.remembers("%s:%d get" % (file, fills[0]))
                self.assertEqual(found, is_one, text)
        self.assertFalse(memos.remembers("/nowhere.py:1 get"))

    def test_what_a_cache_is_told_with_says_so(self):
        self.keep(tables={})

        def table(size):
            if size not in tables:
                tables[size] = os.urandom(BLOB + size)
            return tables[size]

        self.look()
        for size in range(40):
            table(size)
        (told,) = [h for path, h in self.look().items() if path.endswith("tables")]
        self.assertEqual(told.get("kind"), "cache-without-bound")

    def test_a_simple_queue_has_no_bound(self):
        self.keep(inbox=types.SimpleNamespace(letters=queue.SimpleQueue()))
        self.look()
        for _ in range(40):
            inbox.letters.put(os.urandom(BLOB))
        told = {path.rpartition(".")[2]: h.get("kind") for path, h in self.look().items()}
        self.assertEqual(told, {"letters": "unbounded-queue"})

    def test_entries_that_keep_the_objects_that_they_are_for_say_so(self):
        self.keep(heats={}, drawn={}, counted={})

        def measure(firing):
            heats[firing] = os.urandom(BLOB)
            drawn[Tile(firing.number)] = os.urandom(BLOB)
            counted[firing.number] = os.urandom(BLOB)

        self.look()
        for number in range(40):
            measure(Firing(number))
        told = {path.rpartition(".")[2]: h.get("kind") for path, h in self.look().items()}
        self.assertEqual(told, {"heats": "entries-left/objects", "drawn": None, "counted": None})

    def test_objects_that_are_found_by_their_keys_again_are_entries_and_tuples_are_not(self):
        self.keep(open_calls={}, replies={}, totals={}, unread={}, held=collections.defaultdict(dict), states={})

        def ring(number):
            call = Firing(number)
            call.sound = os.urandom(BLOB)
            open_calls[number] = call
            replies[number] = Reply(number, os.urandom(BLOB))
            totals[number] = os.urandom(BLOB)
            unread[number] = Firing(number)
            unread[number] = call
            held[number % 2][number] = {"sound": os.urandom(BLOB), "since": number}
            states[number] = {"weight": os.urandom(BLOB), "bias": os.urandom(8)}

        def answer(number):
            known = open_calls[number].sound, replies.get(number), totals[number]
            return known, held[number % 2][number]["since"], states[number]["bias"]

        self.look()
        for number in range(40):
            ring(number)
            answer(number)
        told = {path.rpartition(".")[2]: h.get("kind") for path, h in self.look().items()}
        self.assertEqual(told.pop("open_calls"), "entries-left/asked-for")
        named = [kind for name, kind in told.items() if name.startswith("held")]
        self.assertEqual(set(named), {"entries-left/asked-for"}, told)
        self.assertEqual({kind for name, kind in told.items() if not name.startswith("held")}, {None}, told)

    def test_what_waits_on_a_timetable_waits_for_its_time(self):
        self.keep(agenda=sched.scheduler())
        self.look()
        for number in range(40):
            agenda.enterabs(1e12, number, print, (os.urandom(BLOB),))
        told = {path.rpartition(".")[2]: h.get("kind") for path, h in self.look().items()}
        self.assertEqual(told, {"_queue": "timers-left"})

    def test_a_queue_of_which_nobody_knows_the_name_is_a_queue(self):
        self.keep(letters=asyncio.Queue(), parcels=queue.Queue(), few=queue.Queue(maxsize=1000))
        self.look()
        for _ in range(40):
            letters.put_nowait(types.SimpleNamespace(sheet=os.urandom(BLOB)))
            parcels.put(os.urandom(BLOB))
            few.put(os.urandom(BLOB))
        told = [(h.get("kind"), h.get("bound")) for path, h in self.look().items()]
        self.assertEqual(sorted(told, key=str), [("unbounded-queue", 1000), *[("unbounded-queue", None)] * 2])

    def test_what_an_optimizer_has_for_groups_that_are_added_is_known_whatever_its_name(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write('def take(self, coat):\n    self.chalk.add_param_group({"params": [coat]})\n    self.kept[1] = coat\n')
            file.flush()
            path = "defaultdict main() local painter.chalk.state"
            found = memos.kind_of(path, [file.name + ":2 take"])
            self.assertEqual(found, {"kind": "optimizer-groups-added"})
            self.assertEqual(memos.kind_of(path, [file.name + ":3 take"]), {})
            for line, told in ((2, set()), (3, {"emptied"})):
                site = file.name + ":%d take" % line
                holders = naming.Holders(0, None)
                holders.add(path, BLOB, 3, {"filled": (fillers.Filler("param_groups", file.name, True),), "length": 3})
                patches = {"places": [site], "own_sites": [site], "named": ("param_groups", True)}
                with contextlib.ExitStack() as stack:
                    for name, found in patches.items():
                        stack.enter_context(unittest.mock.patch.object(naming, name, return_value=found))
                    empties = unittest.mock.patch.object(naming.takers, "told", return_value={"emptied": "a.py:1 f"})
                    stack.enter_context(empties)
                    self.assertEqual(set(holders.listed()[0]) & {"emptied"}, told, "a group is no state")

    def test_what_an_optimizer_keeps_for_parameters_that_are_replaced_says_so(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            text = 'def split(self, old):\n    self.adam.%s[new] = moments\n    self.renewed[new] = moments\n'
            file.write(text % "state")
            file.flush()
            path, site = "defaultdict main() local cloud.adam.state", file.name + ":2 split"
            self.assertEqual(memos.kind_of(path, [site]), {"kind": "entries-left/replaced"})
            self.assertEqual(memos.kind_of("dict main() local cloud.renewed", [site]), {})
            self.assertEqual(memos.kind_of(path, [file.name + ":3 split"]), {})

    def test_a_dictionary_of_states_of_which_some_are_taken_out_again_is_one_of_snapshots(self):
        self.keep(undo={})

        def copied(state):
            return bytes(state)

        def save(step, state):
            undo[step] = copied(state)
            undo.pop(step - 1.5, None)

        self.look()
        for step in range(40):
            save(step, BLOB)
        for has_many, kind in ((True, "snapshots-kept"), (False, "entries-left")):
            with unittest.mock.patch.object(naming, "_is_of_many", lambda _, has_many=has_many: has_many):
                (told,) = [h for path, h in self.look().items() if path.endswith("undo")]
            self.assertEqual(told.get("kind"), kind)
            for step in range(40, 80):
                save(step, BLOB)

    def test_a_line_that_keeps_a_state_of_several_parts_keeps_snapshots(self):
        self.keep(undo={}, moves={})

        def save(step, state):
            undo[step] = state

        def note(step, state):
            moves[step] = state

        self.look()
        for step in range(40):
            save(step, {"part %d" % n: bytearray(BLOB) for n in range(4)})
            note(step, [bytearray(BLOB) for n in range(2)])
        with unittest.mock.patch.object(naming, "_is_of_many", return_value=False):
            told = {path.rpartition(".")[2]: found.get("kind") for path, found in self.look().items()}
        self.assertEqual(told["undo"], "snapshots-kept")
        self.assertNotEqual(told["moves"], "snapshots-kept")

    def test_the_parts_of_an_element_are_what_its_own_containers_have(self):
        self.assertEqual(parts([{"a": [(self,), self], "name": "x", "step": 3}, self]), 2)
        self.assertEqual(parts({1: [self] * 100}), LEAST)
        self.assertEqual(parts([self]), 1)
        self.assertEqual((parts([]), parts(self)), (0, 0))
        endless = []
        endless.append(endless)
        self.assertEqual(parts(endless), 0)

    def test_what_is_registered_for_the_end_is_held_by_weakrefs_registry(self):
        made = []
        self.addCleanup(lambda: [f.detach() for f in made])

        class Anchor:
            pass

        anchor = Anchor()
        self.look()
        for _ in range(40):
            made.append(weakref.finalize(anchor, len, bytes(BLOB)))
        told = self.look()
        (held,) = [h for path, h in told.items() if "finalize" in path]
        self.assertEqual(held["path"], "dict class weakref.finalize._registry")
        self.assertGreater(held["bytes"], 30 * BLOB)
        self.assertIn("weakref.finalize(", text_of(held))

    def test_lists_of_a_dictionary_that_are_small_each_are_weighed_together(self):
        self.keep(seconds={n: [] for n in range(20)})
        self.look()
        for n in range(20, 32):
            seconds[n] = [os.urandom(8_000) for _ in range(46)]
        (told,) = [h for path, h in self.look().items() if path.startswith("list in dict") and "seconds" in path]
        self.assertGreater(told["bytes"], 6 * 46 * 8_000)

    def test_lists_of_several_functions_are_not_weighed_together(self):
        started, wait = threading.Barrier(13), threading.Event()
        self.addCleanup(wait.set)

        def work():
            parts = [os.urandom(4_000) for _ in range(46)]
            started.wait(20)
            wait.wait(20)
            del parts

        self.look()
        for _ in range(12):
            threading.Thread(target=work, daemon=True).start()
        started.wait(20)
        self.assertFalse([path for path in self.look() if path.endswith("work() local parts")])

    def test_a_few_elements_that_are_large_are_told_of_a_container_that_was_known(self):
        self.keep(seconds={n: ["%d-%d" % (n, i) for i in range(20_000)] for n in range(20)})
        self.look()
        for n in range(20, 26):
            seconds[n] = ["%d-%d" % (n, i) for i in range(20_000)]
        (told,) = [h for path, h in self.look().items() if path.startswith("dict ") and path.endswith(".seconds")]
        self.assertEqual(told["count"], 6)
        self.assertGreater(told["bytes"], 6 * 20_000 * 50)

    def test_what_is_told_of_a_container_is_not_told_again_of_what_is_in_its_elements(self):
        self.keep(cursors={})
        self.look()
        for n in range(500):
            cursors[n] = types.SimpleNamespace(rows=["%d-%d" % (n, i) for i in range(400)])
        (path,) = self.look()
        self.assertRegex(path, r"^dict .*\.cursors$")

    def test_some_results_of_a_cache_stand_for_all_that_came(self):
        @functools.lru_cache(maxsize=None)
        def page(number):
            return ["%d-%d" % (number, i) for i in range(200)]

        self.keep(page=page, log=[])
        self.look()
        for number in range(100):
            page(number)
        log.extend(map(str, range(10_000)))
        told = self.look()
        (cache,) = [h for path, h in told.items() if "lru_cache" in path]
        lists = sum(map(sys.getsizeof, [page(1)] + page(1)))
        self.assertIn("return [", text_of(cache), "what it returns is what it keeps")
        self.assertGreater(cache["bytes"], 70 * lists)  # of 100
        self.assertLess(cache["bytes"], 140 * lists)
        self.assertAlmostEqual(cache["count"], 100 * 200, delta=2000)
        (plain,) = [h for path, h in told.items() if path.endswith(".log")]
        self.assertEqual(plain["count"], 10_000)

    def test_callbacks_of_a_future_have_the_line_that_adds_them(self):
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        self.keep(shutdown=loop.create_future())
        self.look()

        def wait():
            for _ in range(40):
                blob = bytes(BLOB)
                shutdown.add_done_callback(functools.partial(len, blob))  # the line of callbacks

        for _ in range(2):
            wait()
            found = self.look()
        (path,) = [p for p in found if "shutdown" in p]
        self.assertEqual(path, "list %s.shutdown._callbacks" % __name__)
        self.assertIn(line_of("callbacks") + " wait", found[path]["filled"].split("; "))

    def test_a_cycle_is_filled_where_its_elements_are_drawn(self):
        self.keep(rounds=itertools.cycle([n] * 1000 for n in range(10_000)))
        self.look()

        def draw(number):
            for _ in range(number):
                next(rounds)  # the line of the rounds

        for number in (200, 400):
            draw(number)
            found = self.look()
        (told,) = [h for p, h in found.items() if p.endswith(".rounds")]
        self.assertEqual(told["kind"], "results-kept/cycle")
        self.assertEqual(told["filled"].split("; ")[0], line_of("the rounds") + " draw")

    def test_what_an_element_of_a_cycle_fills_is_not_the_cycles(self):
        self.keep(turns=itertools.cycle([types.SimpleNamespace(history=[])]))
        self.look()
        for number in (200, 400):
            next(turns).history.extend([n] * 1000 for n in range(number))
            found = self.look()
        (told,) = [h for p, h in found.items() if ".turns" in p]
        self.assertNotIn("kind", told)

    def test_timers_have_the_line_that_starts_them(self):
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        self.keep(loop=loop)
        self.look()

        def serve():
            for _ in range(40):
                blob = bytes(BLOB)
                loop.call_later(3600, len, blob)  # the line of timers

        for _ in range(2):
            serve()
            found = self.look()
        (path,) = [p for p in found if "_scheduled" in p]
        self.assertEqual(path, "list %s.loop._scheduled" % __name__)
        self.assertIn(line_of("timers") + " serve", found[path]["filled"].split("; "))
        self.assertEqual(words.elements_of(loop._scheduled), "timers-left")

    def test_texts_of_warnings_have_the_line_that_warns(self):
        found = fillers.places(fillers.Filler("__warningregistry__", __file__, False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("number %d" % 7)  # the line of warnings
        self.assertIn(line_of("warnings") + " test_texts_of_warnings_have_the_line_that_warns", found)

    def test_loggers_are_found_where_no_function_that_runs_has_one(self):
        names = ["%s.job %d" % (__name__, n) for n in range(40)]
        self.addCleanup(lambda: [logging.Logger.manager.loggerDict.pop(n, None) for n in names])
        self.look()
        for name in names:
            text = io.StringIO()
            text.write("x" * BLOB)
            logging.getLogger(name).addHandler(logging.StreamHandler(text))
        self.assertIn("dict class logging.Logger.manager.loggerDict", self.look())

    def test_loggers_have_the_line_that_asks_for_them(self):
        found = fillers.places(fillers.Filler("loggerDict", "", True))
        number = 7
        logging.getLogger("gpumem.test.%d" % number)  # the line of loggers
        self.addCleanup(logging.Logger.manager.loggerDict.pop, "gpumem.test.7")
        self.assertIn(line_of("loggers") + " test_loggers_have_the_line_that_asks_for_them", found)

    def test_the_scripts_lines_are_found_when_the_interpreter_took_its_name_away(self):
        main = types.ModuleType("__main__")  # without __file__, as at exit
        with unittest.mock.patch.dict(sys.modules, {"__main__": main}), unittest.mock.patch.object(
            sys, "argv", ["/srv/train.py"]
        ):
            self.assertEqual(texts.module_file("__main__"), "/srv/train.py")

    def test_the_types_of_elements_tell_why_they_are_kept(self):
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        record = logging.LogRecord("a", 1, "a.py", 1, "text", (), None)
        ended = threading.Thread(target=int)
        ended.start()
        ended.join()
        for elements, want in (
            ([ValueError("a"), OSError("b")], "tracebacks-kept"),
            ({1: loop.create_future()}, "futures-kept"),
            ([record], "log-records-kept"),
            ({"a": logging.Logger("a"), "a.b": logging.PlaceHolder(None)}, "loggers-added"),
            ({self.setUp, self.keep}, "callbacks-left"),
            ([threading.Timer(9, print)], "timers-left"),
            ([ended, ended], "threads-left/ended"),
            ([threading.Thread(target=print), threading.current_thread()], None),
            ([logging.Filter(), 5], None),
            ([], None),
            ([1, 2], None),
        ):
            self.assertEqual(words.elements_of(elements), want, elements)

    def test_a_container_of_callbacks_or_futures_by_their_topics_is_one_of_these(self):
        handlers = {"a": [self.setUp, self.keep], "b": [self.setUp]}
        for chain, want in (
            ([handlers, handlers["a"], self.setUp], "callbacks-left"),
            ([[handlers], handlers, handlers["a"]], None),
            ([handlers, handlers["a"]], "callbacks-left"),
            ([{"a": [1, 2]}, [1, 2]], None),
            ([[(4, self.setUp)], (4, self.setUp)], "callbacks-left"),
            ([[("a", self.setUp, [])], ("a", self.setUp, [])], None),
            ([[(4, 5.0)], (4, 5.0)], None),
            ([{"a": [concurrent.futures.Future()]}, [concurrent.futures.Future()]], "futures-kept"),
            ([[[ValueError("a")]], [ValueError("a")]], None),  # the chain goes through a traceback there
            ([handlers], None),
        ):
            self.assertEqual(words.kind_of(chain, 0), want, chain)

    def test_a_set_of_the_programs_objects_has_who_is_there(self):
        class Guest:
            pass

        class Refusing(set):
            def __iter__(self):
                raise AssertionError("asked")

        file = types.ModuleType("guests")
        file.__file__ = "/srv/guests.py"
        Guest.__module__ = "guests"
        with unittest.mock.patch.dict(sys.modules, {"guests": file}):
            self.assertTrue(words.of_things({Guest(), Guest()}))
            self.assertFalse(words.of_things({"a", "b"}))
            self.assertFalse(words.of_things(Refusing({"a"})))
            self.assertIsNone(words.elements_of(Refusing({"a"})))
            self.assertFalse(words.of_things(set()))
            for of, want in (({Guest()}, "sessions-kept"), ({"a"}, None), ([Guest()], None)):
                self.assertEqual(words.kind_of([[of, of], of], 0), want, of)
        self.assertEqual(memos.kind_of("set visit() local room.present", [], of_things=True), {"kind": "sessions-kept"})
        self.assertEqual(memos.kind_of("set visit() local room.present", []), {})

    def test_an_object_has_the_name_that_the_outer_function_has_for_it(self):
        running = Running(Trainer().fit)
        try:
            self.look()
            Trainer.told().results.extend(bytes(BLOB) for _ in range(40))
            found = self.look()
        finally:
            running.end()
        self.assertEqual([p for p in found if "results" in p], ["list fit() local model.results"])

    def test_garbage_that_nobody_collects_is_named_at_the_end(self):
        self.surveys.look_now(self.process, time.monotonic() + 20)
        self.process.survivors = self.surveys._notes[0][1]
        was_on = gc.isenabled()
        gc.collect()
        gc.disable()
        try:
            for _ in range(3000):
                knot = Knot()
                knot.itself, knot.blob = knot, bytes(1000)
            del knot
            found = ending.find(self.process, time.monotonic() + 20)
        finally:
            gc.collect()
            if was_on:
                gc.enable()
        (told,) = [h for h in found if h.get("kind") == "reference-cycle"]
        self.assertEqual(told["path"], "Knot objects: a reference cycle through .itself")
        self.assertTrue(3000 * 1000 < told["bytes"] < 3000 * 1500, told)
        again = ending.find(self.process, time.monotonic() + 20)
        self.assertEqual([h for h in again if h.get("kind")], [])

    def test_what_some_elements_share_counts_once_and_keys_count(self):
        clients = []
        for _ in range(20):
            clients.append(types.SimpleNamespace(tree=[os.urandom(1000) for _ in range(100)]))
        kept = [{"client": c, "n": n} for c in clients for n in range(20)]
        each = contents.deeper(kept)
        whole = 100 * 1033 / 20  # a client's bytes by its elements
        self.assertTrue(0.6 * whole < each < 1.6 * whole, each)
        cache = {("key", os.urandom(5000)): None for _ in range(100)}
        self.assertTrue(5000 < contents.deeper(cache) < 5500)

    def test_arrays_of_numpy_below_elements_count_with_what_they_have(self):
        # A stand-in that knows its own size, as ndarray does.
        stand_in = types.SimpleNamespace(ndarray=int)
        records = [(types.SimpleNamespace(mask=n << 400000), n) for n in range(1, 21)]
        without = contents.deeper(records)
        with unittest.mock.patch.dict(sys.modules, numpy=stand_in):
            self.assertGreater(contents.deeper(records), without + 50000)

    def test_texts_below_elements_count_with_what_was_written_to_them(self):
        texts = [types.SimpleNamespace(stream=io.StringIO()) for _ in range(20)]
        for text in texts:
            text.stream.write("line\n" * 10000)
        self.assertGreater(contents.deeper(texts), 50000)
        texts[7].stream.close()
        self.assertGreater(contents.deeper(texts), 40000, "one is closed")

    def test_what_a_closure_has_and_what_a_task_waits_with_count(self):
        def kept():
            body = bytearray(BLOB)
            return functools.partial(lambda: body)

        async def wait(event):
            body = bytearray(BLOB)
            await event.wait()
            return body

        async def waited():
            event = asyncio.Event()
            tasks = [asyncio.ensure_future(wait(event)) for _ in range(8)]
            await asyncio.sleep(0)
            found = contents.deeper(event._waiters)
            event.set()
            await asyncio.gather(*tasks)
            return found

        for name, found in (("closure", contents.deeper([kept() for _ in range(8)])), ("task", asyncio.run(waited()))):
            with self.subTest(name):
                self.assertAlmostEqual(found, BLOB, delta=BLOB / 4)

    def test_a_line_that_hands_over_what_adds_is_one_that_adds(self):
        adds = texts.adds_to("statements", r"\.")
        for line, found in (
            ("base.set_trace_callback(self.statements.append)", True),
            ("call(self.statements.append, 1)", True),
            ("call(self.statements.appended)", False),
        ):
            with self.subTest(line):
                self.assertIs(bool(adds.search(line)), found)

    def test_what_brings_the_agent_in_is_no_file_of_the_programs(self):
        ours = os.path.dirname(os.path.dirname(kinds.OWN_FOLDER))
        for file in ("sitecustomize.py", "lib/gpumem_agent/late.py", "lib/gpumem/_watch.py"):
            self.assertTrue(os.path.isfile(os.path.join(ours, file)))
            self.assertTrue(kinds.is_library(os.path.join(ours, file)), file)
        self.assertFalse(kinds.is_library(os.path.join(ours, "train.py")))

    def test_a_folder_that_packages_were_installed_into_is_a_librarys(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(
            sys, "path", [folder, os.path.join(folder, "vendored")]
        ):
            os.makedirs(os.path.join(folder, "vendored", "thing-1.0.dist-info"))
            self.assertTrue(kinds.is_library(os.path.join(folder, "vendored", "thing", "core.py")))
            self.assertFalse(kinds.is_library(os.path.join(folder, "train.py")))

    def test_numbers_count(self):
        rows = [{"samples": [n + k * 0.5 for k in range(2000)]} for n in range(20)]
        each = contents.deeper(rows)
        self.assertTrue(0.8 * 2000 * 32 < each < 1.2 * 2000 * 32, each)

    def test_records_of_a_log_have_the_lines_that_log(self):
        log = logging.getLogger("gpumem.test")
        handler = logging.handlers.MemoryHandler(capacity=10**6)
        log.addHandler(handler)
        self.addCleanup(log.removeHandler, handler)
        log.setLevel(logging.INFO)
        log.propagate = False
        self.keep(memory=handler)
        self.look()
        for n in range(40):
            log.info("request %r", bytes(BLOB) + bytes(n))  # the line of records
        (told,) = [h for path, h in self.look().items() if path.endswith("memory.buffer")]
        self.assertEqual(told["kind"], "log-records-kept")
        self.assertIn(line_of("records"), told["filled"])
        # Whoever has the logger alone sees its handlers first.
        chain = [log, log.handlers, handler, handler.buffer, handler.buffer[0]]
        self.assertEqual(words.kind_of(chain, 1), "log-records-kept")
        self.assertEqual(words.kind_of([log, log.handlers, handler], 1), "loggers-added")

    def test_records_of_a_handler_of_the_programs_have_its_line_too(self):
        class Recorder(logging.Handler):
            def __init__(self):
                super().__init__()
                self.records = []

            def emit(self, record):
                self.records.append(record)  # the line of the handler
                while self.records[0].created < record.created - 540:
                    self.records.pop(0)  # the line of the end

        log, handler = logging.getLogger("gpumem.recorder"), Recorder()
        log.addHandler(handler)
        self.addCleanup(log.removeHandler, handler)
        log.setLevel(logging.INFO)
        log.propagate = False
        self.keep(recorder=handler)
        self.look()
        for n in range(40):
            log.info("request %r", bytes(BLOB) + bytes(n))
        (told,) = [h for path, h in self.look().items() if path.endswith("recorder.records")]
        self.assertEqual(told["kind"], "log-records-kept")
        first, second = told["filled"].split("; ")
        self.assertEqual(first, line_of("the handler") + " emit")
        self.assertEqual(told["emptied"], line_of("the end") + " emit")
        self.assertEqual(told["emptied_after"], 540)
        self.assertTrue(second.startswith(__file__), second)
        # Whoever has the logger alone sees its handlers first.
        chain = [log, log.handlers, handler, handler.records, handler.records[0]]
        self.assertEqual(logged.logged(chain, 1, kinds.module_names()).sites()[0], first)

    def test_elements_of_long_lists_are_weighed_by_some(self):
        tables = [{"column": [str(n) * 20 for n in range(1000)]} for _ in range(30)]
        size = sum(map(sys.getsizeof, tables[-1]["column"])) + sys.getsizeof(tables[-1]["column"])
        each = contents.deeper(tables)
        self.assertTrue(0.7 * size < each < 1.4 * size, (each, size))


class Marking:
    def __init__(self, told):
        self._told = told

    def mark(self, *mark):
        self._told.append(mark)

    def quiet(self):
        return contextlib.nullcontext()


class CompilationsTest(unittest.TestCase):
    def test_the_programs_line_that_compiles_again_and_again_is_told(self):
        told = []
        module = types.SimpleNamespace(__file__="/opt/jax/__init__.py")
        process = Marking(told)
        framework = jax_adapter.open_framework(module, process)
        inner = {"listener": framework._on_event, "event": jax_adapter.COMPILED}
        source = "def compiled(): listener(event, 0.01, fun_name='f')"
        exec(compile(source, "/opt/site-packages/jax/_src/dispatch.py", "exec"), inner)
        for _ in range(100):
            inner["compiled"]()  # the line of compilations
        line = line_of("compilations")
        name = "test_the_programs_line_that_compiles_again_and_again_is_told"
        self.assertEqual(told[0], ("event", "compiled", "%s %s" % (line, name), {"count": 1, "by": "jax"}))
        self.assertGreater(told[-1][3]["count"], 75)
        self.assertLess(len(told), 25)
        self.assertEqual({mark[2] for mark in told}, {told[0][2]})
        self.assertNotIn(process, gc.get_referents(framework, vars(framework)))

    def test_functions_that_torchscript_makes_are_counted(self):
        told = []
        module = types.SimpleNamespace(_jit_script_compile=lambda name, size=0: (name, size))
        make = module._jit_script_compile
        process = Marking(told)
        makers = torch_jit.Makers(module)
        makers.arm(process)
        self.assertEqual(module._jit_script_compile("f", size=2), ("f", 2))  # the line of scripts
        name = "test_functions_that_torchscript_makes_are_counted"
        detail = {"count": 1, "by": "torch.jit"}
        self.assertEqual(told, [("event", "compiled", "%s %s" % (line_of("scripts"), name), detail)])
        self.assertTrue(makers.disarm())
        self.assertIs(module._jit_script_compile, make)

    def test_a_wrapper_that_another_has_wrapped_stays_and_counts_no_more(self):
        told = []
        module = types.SimpleNamespace(_jit_script_compile=int)
        process = Marking(told)
        makers = torch_jit.Makers(module)
        makers.arm(process)
        ours = module._jit_script_compile
        module._jit_script_compile = lambda: ours()
        self.assertFalse(makers.disarm())
        self.assertEqual(module._jit_script_compile(), 0)
        self.assertEqual(told, [])


if __name__ == "__main__":
    unittest.main()
