"""Bounds that a program gives its containers in its own words."""

import importlib.util
import os
import queue
import tempfile
import time
import types
import unittest

import acted
from gpumem_agent import surveys
from gpumem_agent.holders import bounds, kinds

CLASS = """
class Kept:
    SOME = 40

    def __init__(self):
        self.kept, self.bytes, self.most = {}, 0, 1000

    def put(self, key, value):
        self.kept[key] = value  # fills
"""
# What stands behind the line that fills, and how many of 20 elements, of 400 bytes in all,
# there can be.
BEHIND = (
    ("        while len(self.kept) > self.most:\n            self.kept.popitem()\n", 1000),
    ("        if len(self.kept) >= self.SOME:\n            del self.kept[next(iter(self.kept))]\n", 40),
    ("        if len(self.kept) > 1_0 * 5:\n            self.kept.clear()\n", 50),
    ("        if len(self.kept) > LIMIT:\n            self.kept.pop(min(self.kept))\n", 300),
    (
        "        self.bytes += len(value)\n        while self.bytes > self.most:\n"
        "            old = self.kept.pop(0)\n            self.bytes -= len(old)\n",
        50,
    ),
    ("        if len(self.kept) >= self.most:\n            heapq.heapreplace(self.kept, value)\n", 1000),
    ("        if len(self.kept) > self.most:\n            heapq.heappop(self.other)\n", None),
    ("        if len(self.kept) > self.most: self.kept.pop()\n", 1000),
    ("        del self.kept[:-self.SOME]\n", 40),
    ("        @[:] = @[-50:]\n", 50),
    ("        del self.other[:-self.SOME]\n", None),
    ("        @.pop(key - self.SOME, None)\n", 40),
    ("        if key > 25:\n            del @[key - 25]\n", 25),
    ("        @.pop(key - 7, None)\n", None),  # it has more by now
    ("        self.other.pop(key - 40, None); old = @[key - 40]\n", None),
    ("", None),
    ("        if len(self.kept) > self.most:\n            print('many')\n", None),
    ("        while len(self.other) > self.most:\n            self.other.popitem()\n", None),
    ("        while len(self.kept) > self.most:\n            self.other.popitem()\n", None),
    ("        while len(self.kept) > self.unknown:\n            self.kept.popitem()\n", None),
    ("        while len(self.kept) > 20:\n            self.kept.popitem()\n", 20),  # it is full
    ("        while len(self.kept) > 5:\n            self.kept.popitem()\n", None),  # it does not bind
    ("        while len(self.kept) > 1 << 60:\n            self.kept.popitem()\n", None),
    ("        while self.bytes > self.most:\n            self.kept.popitem()\n", None),
)
# What stands in place of the line that fills, with @ for what it fills: this file has such a
# container, too. And how many there can be.
LINES = (
    (
        "heappush(@, value) if len(@) < self.most"
        " else heapreplace(@, value)  # fills",
        1000,
    ),
    ("(heappush if len(@) < self.SOME else heapreplace)(@, value)  # fills", 40),
    (
        "heapq.heapreplace(@, value) if len(@) >= 50"
        " else heapq.heappush(@, value)  # fills",
        50,
    ),
    ("@.append(value) if len(@) < self.most else None  # fills", 1000),
    ("if len(@) < self.most: @.append(value)  # fills", 1000),
    ("if self.count < self.most:\n            self.count += 1\n            @.append(value)  # fills", 1000),
    ("if self.count < self.most:\n            @.append(value)  # fills", None),
    ("if self.count < self.most:\n            self.count += 1\n        @.append(value)  # fills", None),
    ("if self.bytes < self.most:\n            self.bytes += 1\n            @.append(value)  # fills", None),
    ("@.append(value); @ = @[-self.SOME:]  # fills", 40),
    ("@ = sorted(@ + [value])[:LIMIT]  # fills", 300),
    ("@.append(value) if len(@) < self.most else @.insert(0, value)  # fills", None),
    ("@.append(value) if len(self.other) < self.most else None  # fills", None),
    ("@.append(value if len(value) < self.most else None)  # fills", None),
    ("@.append(@[-1] + value)  # fills", None),
    ("@ = @ + value[:self.most]  # fills", None),
    ("@.append(value); first = self.other[:self.most]  # fills", None),
)
ROOM = CLASS.replace("        self.kept[key]", "        if len(self.kept) < self.most:\n            self.kept[key]")


def load(folder, number, text):
    """A module of a source."""
    file = os.path.join(folder, "bounded%d.py" % number)
    with open(file, "w") as source:
        source.write("LIMIT = 300\n" + text)
    spec = importlib.util.spec_from_file_location("bounded%d" % number, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return file, module


class BoundsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def found(self, number, text):
        file, module = load(self.folder, number, text)
        line = 2 + text[: text.index("# fills")].count("\n")
        made = module.Kept()
        made.bytes, made.count = 400, 20
        names = {**vars(module), **vars(module.Kept), **vars(made)}
        numbers = {k: v for k, v in names.items() if type(v) is int}
        entry = {"length": 20, "bytes": 400, "count": 20, "filled": "%s:%d put" % (file, line)}
        return bounds.bound(entry, "kept", numbers)

    def test_a_bound_that_moves_on_with_what_it_is_to_bound_is_none(self):
        def look(length, bound):
            return {"path": "deque main() local memory._shifts", "length": length, "bound": bound}

        for before, now, kept in (
            ((24, 600), (49, 1225), False),
            ((24, 600), (49, 600), True),
            ((24, 600), (26, 650), True),
            ((24, 24), (49, 49), True),  # it is full, of smaller things
        ):
            known, told = set(), look(*now)
            bounds.without([told], [look(*before)], known)
            self.assertEqual(("bound" in told, known == set()), (kept, kept), (before, now))
        bounds.without([told, {"path": "dict M.others", "length": 9, "bound": 20}], [], {told["path"]})
        self.assertNotIn("bound", told)

    def test_what_is_compared_with_a_number_and_then_taken_out_has_a_bound(self):
        for number, (behind, most) in enumerate(BEHIND):
            self.assertEqual(self.found(number, CLASS + behind.replace("@", "self.kept")), most, behind)

    def test_lines_that_choose_or_cut_what_they_fill_give_a_bound(self):
        for number, (line, most) in enumerate(LINES):
            text = CLASS.replace("self.kept[key] = value  # fills", line.replace("@", "self.kept"))
            self.assertEqual(self.found(200 + number, text), most, line)

    def test_what_is_put_in_as_long_as_there_is_room_has_a_bound(self):
        self.assertEqual(self.found(100, ROOM), 1000)

    def test_the_numbers_are_those_of_the_object_its_class_and_its_module(self):
        made = types.SimpleNamespace(kept={}, most=7, name="x", on=True)
        chain = [made, vars(made), made.kept]
        self.assertEqual(bounds.numbers_of(chain, 2, {})["most"], 7)
        self.assertNotIn("on", bounds.numbers_of(chain, 2, {}))
        self.assertEqual(bounds.numbers_of(chain, 0, {}), {})
        names = {"kept": [], "MOST": 9, "other": "x"}
        chain = [names, names["kept"]]
        self.assertEqual(bounds.numbers_of(chain, 1, {id(names): ("m", "m.py")}), {"MOST": 9})
        self.assertEqual(bounds.numbers_of(chain, 1, {}), {}, "a dictionary's keys are no numbers")


class Bounded:
    """A cache with a bound in its own words."""

    def __init__(self, most):
        self.kept, self.most = {}, most

    def put(self, key):
        self.kept[key] = bytes(40_000)
        while len(self.kept) > self.most:
            self.kept.pop(next(iter(self.kept)))


class LookTest(unittest.TestCase):
    def test_a_look_tells_the_bound(self):
        global cache
        steps = acted.Steps(False)
        process = types.SimpleNamespace(
            frameworks=[], sites_wanted=False, steps=steps, held=lambda: (None, None), idle=None, heap_now=lambda: None
        )
        cache = Bounded(900)
        self.addCleanup(globals().pop, "cache")
        for key in range(20):
            cache.put(key)
        looks = surveys.Surveys()
        looks.look_now(process, time.monotonic() + 20)
        for key in range(20, 120):
            cache.put(key)
        looks.look_now(process, time.monotonic() + 20)
        told = [h for h in looks.told if h["path"].endswith("cache.kept")]
        self.assertEqual([(h["length"], h.get("bound")) for h in told], [(120, 900)])


class QueuesTest(unittest.TestCase):
    def test_the_bound_of_a_queue_is_that_of_its_elements_alone(self):
        waiting = queue.Queue(maxsize=5)
        waiting.put(1)
        for below, known in (
            ((), (1, 5)),
            ((vars(waiting), waiting.queue), (1, 5)),
            ((waiting.queue, 1), (1, 5)),
            ((vars(waiting), waiting.mutex), None),
        ):
            self.assertEqual(kinds.filling(waiting, below), known)
