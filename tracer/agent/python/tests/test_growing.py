"""What grows by itself: what the looks find of it, and what they ask of it."""

import atexit
import io
import pickle
import sqlite3
import sys
import threading
import time
import types
import unittest
import unittest.mock

from gpumem_agent import atomic
from gpumem_agent.holders import capsules, contents, growing, living, naming, paths, running, sparse, words
from gpumem_agent.holders.kinds import Contexts

PART = b"x" * (300 << 10)
STRINGS = io.StringIO()
LOCAL = threading.local()


@unittest.skipUnless(atomic.POSSIBLE, "it looks in another way")
class GrowingTest(unittest.TestCase):
    def setUp(self):
        self.process = types.SimpleNamespace(frameworks=[])
        self.sizes = {}

    def found(self):
        """What a look finds of what grew, by path."""
        deadline = time.monotonic() + 100
        entries, noted = running.look(self.process, running.Noted(running.reached([]), {}), deadline, ((), {}, self.sizes))
        self.sizes = noted.sizes
        return {entry["path"]: entry for entry in entries if "since" in entry}

    def test_a_buffer_that_was_longer_at_each_look_is_told_by_what_came(self):
        body, text, received = io.BytesIO(), STRINGS, bytearray()
        for turn in range(3):
            for _ in range(5):
                body.write(PART)
                text.write(PART.decode())
                received.extend(PART)
            found = self.found()
            self.assertEqual(bool(found), turn > 0, "one look compares with nothing")
        names = "BytesIO %s local body", "bytearray %s local received"
        for name in [name % "test_a_buffer_that_was_longer_at_each_look_is_told_by_what_came()" for name in names]:
            self.assertGreaterEqual(found[name]["bytes"], 9 * len(PART))
        written = next(entry for path, entry in found.items() if path.endswith("STRINGS"))
        self.assertEqual(written["bytes"], 10 * len(PART))
        self.assertIn("test_growing.py", written["filled"])
        body.truncate(0)
        received.clear()
        self.assertFalse([path for path in self.found() if "local" in path], "emptied")

    def test_many_small_buffers_of_one_place_are_told_together(self):
        texts = [io.StringIO() for _ in range(200)]
        for turn in range(3):
            for text in texts:
                text.write("x" * (20 << 10))
            found = [entry for path, entry in self.found().items() if path.startswith("StringIO in list test_many")]
            self.assertEqual(bool(found), turn > 0, "one look compares with nothing")
        self.assertGreater(found[0]["bytes"], 6 << 20, "it stands for all of them")

    def test_a_buffer_that_is_closed_or_stays_as_long_is_not_told(self):
        closed, full = io.StringIO(), io.BytesIO(PART * 40)
        closed.write("x" * (4 << 20))
        self.found()
        closed.close()
        self.assertEqual(self.found(), {})
        del full

    def test_the_code_of_a_class_that_is_derived_is_not_run(self):
        class Counted(bytearray):
            def __sizeof__(self):
                raise AssertionError("asked")

            __len__ = __repr__ = __sizeof__

        kept = Counted(PART * 8)
        self.found()
        bytearray.extend(kept, PART * 8)
        path, entry = next(iter(self.found().items()))
        self.assertTrue(path.startswith("Counted test_the_code"), path)
        self.assertEqual(bytearray.__len__(kept), 16 * len(PART))

    def test_a_pickler_counts_with_what_its_memo_keeps(self):
        pickler = pickle.Pickler(io.BytesIO())
        for turn in range(2):
            for n in range(40):
                pickler.dump([PART[n:].decode()])
            found = self.found()
        (entry,) = [entry for path, entry in found.items() if path.startswith("Pickler ")]
        self.assertGreater(entry["bytes"], 20 * len(PART))

    def test_what_is_below_a_pickler_is_kept_by_its_memo(self):
        pickler = pickle.Pickler(io.BytesIO())  # whose memo shows what it has from some 3.11 on
        self.assertEqual(words.kind_of([[pickler], pickler, bytearray()], 1), "pickler-memo-kept")
        self.assertIsNone(words.kind_of([[pickler], [], bytearray()], 1))

    def test_a_private_pickler_is_told_itself(self):
        journal = types.SimpleNamespace()
        journal._pickler, entry = pickle.Pickler(io.BytesIO()), types.SimpleNamespace()
        names = {"journal": journal}
        chain = [names, journal, vars(journal), journal._pickler, entry, bytearray()]
        told = paths.Path(chain, {id(names): ("bench", "")})
        self.assertEqual((str(told), told.facts()["kind"]), ("bench.journal._pickler", "pickler-memo-kept"))

    def test_what_a_pickler_keeps_by_several_ways_counts_once(self):
        pickler = pickle.Pickler(io.BytesIO())
        for turn in range(2):
            for n in range(60):
                update = {"%d %d" % (n, i): PART[n + i :].decode() for i in range(6)}
                pickler.dump((turn, [n], update))
            found = self.found()
        (entry,) = [entry for path, entry in found.items() if path.startswith("Pickler ")]
        self.assertAlmostEqual(entry["bytes"] / (60 * 6 * len(PART)), 1, delta=0.25)

    def test_gradients_of_a_device_are_not_of_the_host_and_are_asked_beside_one(self):
        class Embedding:
            pass

        self.layer, sizes = Embedding(), []
        with unittest.mock.patch.multiple(
            sparse, kinds=lambda: (Embedding,), size=lambda module: (sizes[-1], False)
        ):
            for on_host in (True, False, False):
                sizes.append(len(sizes) * (4 << 20))
                holders, reach = naming.Holders(time.monotonic() + 100, None), running.reached([])
                self.sizes = growing.add(holders, reach, self.sizes, {"host": True}, on_host)
            grown = {path: size for path, (size, _) in holders.found.items() if "gradient of" in path}
            self.assertEqual(list(grown.values()), [8 << 20], holders.found)
            self.assertNotIn("host", holders.facts[next(iter(grown))])
            self.assertTrue([key for key in self.sizes if key == growing.END_PATH], "what is of the host is remembered")
            for told, want in ((sparse.BUSY, {}), ((20 << 20, False), {next(iter(grown)): 20 << 20})):
                with unittest.mock.patch.multiple(sparse, size=lambda module: told), unittest.mock.patch.object(
                    growing, "PAUSE", 0
                ):
                    holders = naming.Holders(time.monotonic() + 100, None)
                    self.sizes = growing.add(holders, running.reached([]), self.sizes, {"host": True})
                found = {path: size for path, (size, _) in holders.found.items() if "gradient of" in path}
                self.assertEqual(found, want, "what is busy is told from the same beginning later")

    def test_of_very_many_tables_those_that_are_asked_stand_for_all(self):
        class Embedding:
            pass

        self.tables, rows = [Embedding() for _ in range(growing.MOST_EMBEDDINGS * 3 // 2)], []
        self.sizes = {}
        with unittest.mock.patch.multiple(
            sparse, kinds=lambda: (Embedding,), size=lambda module: (len(rows) << 20, False)
        ):
            for _ in range(2):
                rows.append(None)
                holders, reach = naming.Holders(time.monotonic() + 100, None), running.reached([])
                self.sizes = growing.add(holders, reach, self.sizes, {})
        (size,) = [size for path, (size, _) in holders.found.items() if "gradient of" in path]
        self.assertEqual(size, len(self.tables) << 20)

    def test_a_database_in_memory_counts_with_what_sqlite_takes(self):
        database = sqlite3.connect(":memory:")
        database.execute("create table t (body blob)")
        if growing._memory_used() is None:
            self.skipTest("this SQLite does not tell")
        for turn in range(2):
            for _ in range(10):
                database.execute("insert into t values (?)", (PART,))
            found = self.found()
        database.close()
        (entry,) = [entry for path, entry in found.items() if path.startswith("Connection ")]
        self.assertGreaterEqual(entry["bytes"], 9 * len(PART))

    def test_modules_that_the_program_makes_are_counted(self):
        names = ["made_%d" % n for n in range(300)]
        try:
            for turn in range(2):
                for name in names[150 * turn : 150 * turn + 150]:
                    sys.modules[name] = types.ModuleType(name)
                    sys.modules[name].table = [float(n) for n in range(300)]
                found = self.found()
        finally:
            for name in names:
                sys.modules.pop(name, None)
        self.assertEqual(found["dict sys.modules"]["count"], 150)
        self.assertGreater(found["dict sys.modules"]["bytes"], 150 * 300 * 8)

    def test_modules_that_a_library_makes_below_its_name_are_not(self):
        names = ["unittest.made_%d" % n for n in range(150)]
        try:
            self.found()
            for name in names:
                sys.modules[name] = types.ModuleType(name)
                sys.modules[name].table = [float(n) for n in range(3000)]
            self.assertNotIn("dict sys.modules", self.found())
        finally:
            for name in names:
                sys.modules.pop(name, None)

    @unittest.skipUnless(hasattr(atexit, "_ncallbacks"), "nobody tells how many there are")
    def test_callbacks_for_the_end_are_counted_and_not_weighed(self):
        self.addCleanup(atexit.unregister, nothing)
        for turn in range(2):
            for _ in range(growing.MANY[growing.END_PATH]):
                atexit.register(nothing, PART)
            found = self.found()
        entry = found["callbacks of atexit.register"]
        self.assertEqual((entry["count"], entry["bytes"]), (growing.MANY[growing.END_PATH], 0))

    def test_threads_are_counted_and_the_line_that_starts_them_is_told(self):
        wait, started = threading.Event(), []
        self.addCleanup(wait.set)
        for turn in range(2):
            for _ in range(20):
                started.append(threading.Thread(target=wait.wait, daemon=True))
                started[-1].start()
            found = self.found()
        entry = found["dict threading._active"]
        self.assertEqual((entry["count"], entry["bytes"]), (20, 0))
        self.assertIn(".py:", entry["filled"])

    def test_what_has_its_bytes_outside_of_python_knows_its_size(self):
        import ctypes

        self.assertGreaterEqual(contents.size(ctypes.create_string_buffer(5000)), 5000)
        import datetime  # a capsule of another kind keeps no array

        self.assertIsNone(capsules.size(datetime.datetime_CAPI))

    def test_a_list_of_a_context_variable_and_of_a_thread_have_their_names(self):
        import contextvars

        trace = contextvars.ContextVar("trace")
        trace.set([])
        LOCAL.seen = []
        before = running.Noted(running.reached([], living.census(Contexts.kind())[1]), {})
        for n in range(2000):
            trace.get().append("%d" % n)
            LOCAL.seen.append("%d" % n)
        entries, _ = running.look(self.process, before, time.monotonic() + 100)
        found = {entry["path"]: entry for entry in entries}
        self.assertIn("list context variable trace.get()", found)
        self.assertIn("test_growing.py", found["list context variable trace.get()"]["filled"])
        (path,) = [path for path in found if path.endswith("LOCAL.seen")]
        self.assertIn("test_growing.py", found[path]["filled"])


def nothing(_):
    """Is called at the end, where it is registered."""
