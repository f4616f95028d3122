"""What a program may import: without a tracer, and what looks by itself."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock
import warnings

import gpumem
from gpumem import _check, _memory

MIB = 1 << 20


class WithoutATracerTest(unittest.TestCase):
    def test_marks_do_nothing_and_bring_nothing_in(self):
        program = (
            "import sys, gpumem\n"
            "before = set(sys.modules)\n"
            "gpumem.step(); gpumem.step(7); gpumem.mark('a'); gpumem.phase('b')\n"
            "gpumem.baseline(); gpumem.released()\n"
            "with gpumem.scope('c'): pass\n"
            "print(sorted(set(sys.modules) - before),\n"
            "      [m for m in ('typing', 'contextlib', 'subprocess') if m in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-S", "-c", program], stdout=subprocess.PIPE, universal_newlines=True
        )
        self.assertEqual((done.returncode, done.stdout), (0, "[] []\n"))

    def test_a_name_that_is_not_there_is_an_error_of_attributes(self):
        with self.assertRaises(AttributeError):
            gpumem.nothing

    def test_a_scope_lets_errors_through_and_decorates(self):
        with self.assertRaises(KeyError), gpumem.scope("fails"):
            raise KeyError

        @gpumem.scope("named")
        def function(a, b=1):
            """Documented."""
            return a + b

        self.assertEqual((function(1, b=2), function.__doc__), (3, "Documented."))

    def test_marks_reach_an_agent_with_their_place(self):
        told = []
        agent = types.SimpleNamespace(
            step=lambda number: told.append(number),
            mark=lambda kind, name, at: told.append((kind, name, at.split("/")[-1].split(":")[0])),
        )
        module = types.SimpleNamespace(agent=lambda: agent)
        with unittest.mock.patch.dict(sys.modules, {"gpumem_agent": module}):
            gpumem.step(4)
            gpumem.mark("m")
            with gpumem.scope("s"):
                pass
        here = "test_api.py"
        want = [4, ("event", "m", here), ("scope", "begin s", here), ("scope", "end s", here)]
        self.assertEqual(told, want)


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.kept = []
        if _memory.Memory().heap_bytes() is None:
            self.skipTest("nothing here tells the bytes of the heap")

    def test_a_function_that_keeps_memory_raises_at_its_second_call(self):
        @gpumem.check
        def keeps():
            self.kept.append(bytearray(4 * MIB))

        keeps()
        with self.assertRaises(gpumem.LeakError) as caught:
            keeps()
        self.assertRegex(
            str(caught.exception), r"keeps keeps memory, 2 calls in a row: \d.\d MiB of host heap more"
        )
        self.assertGreater(caught.exception.kept_bytes, 3 * MIB)

    def test_first_time_work_and_what_is_returned_accuse_nobody(self):
        @gpumem.check(tolerance="256KiB")
        def fills_a_cache():
            if not self.kept:
                self.kept.append(bytearray(4 * MIB))
            return [bytearray(2 * MIB), {"rows": bytearray(MIB)}]

        returned = [fills_a_cache() for _ in range(4)]
        self.assertEqual(len(returned), 4)

    def test_warmup_and_confirm_say_how_many_calls(self):
        calls = []

        @gpumem.check(warmup=2, confirm=0)
        def keeps():
            calls.append(bytearray(4 * MIB))

        keeps()
        keeps()
        with self.assertRaises(gpumem.LeakError):
            keeps()

    def test_errors_of_the_function_come_out_as_they_are(self):
        @gpumem.check
        def fails():
            self.kept.append(bytearray(4 * MIB))
            raise ValueError("mine")

        for _ in range(3):
            with self.assertRaisesRegex(ValueError, "mine"):
                fails()

    def test_coroutines_are_checked_and_generators_refused(self):
        @gpumem.check
        async def keeps():
            self.kept.append(bytearray(4 * MIB))

        with self.assertRaises(gpumem.LeakError):
            for _ in range(2):
                asyncio.run(keeps())
        with self.assertRaisesRegex(TypeError, "generator"):

            @gpumem.check
            def generates():
                yield 1

    def test_calls_within_a_checked_call_are_left_alone(self):
        @gpumem.check(confirm=0)
        def inner():
            self.kept.append(bytearray(4 * MIB))

        @gpumem.check(tolerance="1GiB")
        def outer():
            thread = threading.Thread(target=inner)
            thread.start()
            thread.join(10)
            inner()

        outer()
        self.assertEqual(len(self.kept), 2)

    def test_the_environment_switches_it_off(self):
        def function():
            pass

        with unittest.mock.patch.dict("os.environ", {"GPUMEM_CHECK": "0"}):
            self.assertIs(gpumem.check(function), function)

    def test_a_size_that_is_none_is_an_error_at_the_decorator(self):
        with self.assertRaisesRegex(ValueError, "not a size"):
            gpumem.check(tolerance="much")(print)

    def test_what_is_too_much_to_look_at_is_unknown(self):
        memory = _memory.Memory()
        self.assertIsNone(memory.reachable([object() for _ in range(_memory.ROOMS + 10)]))
        self.assertEqual(memory.reachable(None), 0)

    def test_a_heap_that_nobody_tells_is_said_once_and_accuses_nobody(self):
        with unittest.mock.patch.object(_memory.Memory, "heap_bytes", return_value=None):

            @gpumem.check(confirm=0)
            def keeps():
                self.kept.append(bytearray(4 * MIB))

            with self.assertWarnsRegex(RuntimeWarning, "cannot tell what"):
                keeps()
            keeps()
        self.assertFalse(_check._busy.locked())


class WatchTest(unittest.TestCase):
    """The recording; its verdict is tested where there is a program to judge it."""

    def test_steps_marks_and_samples_are_in_its_folder(self):
        with gpumem.watch("work", interval=0.01) as watch:
            for _ in range(3):
                time.sleep(0.02)
                gpumem.step()
            gpumem.mark("seen")
            with gpumem.scope("part"):
                pass
        with open(os.path.join(watch.folder, "samples.csv")) as f:
            header, *rows = f.read().splitlines()
        self.assertTrue(header.startswith("t_ms,step,rss_bytes"))
        self.assertGreater(len(rows), 4)
        self.assertTrue(all(row.count(",") == header.count(",") for row in rows))
        self.assertEqual(rows[-1].split(",")[1], "3")
        with open(os.path.join(watch.folder, "events.jsonl")) as f:
            events = [json.loads(line) for line in f]
        names = [e["name"] for e in events if e["kind"] != "holders"]
        self.assertEqual(names, ["begin work", "seen", "begin part", "end part", "end work"])
        self.assertTrue(all("test_api.py:" in e["at"] for e in events if e["kind"] != "holders"))
        self.assertEqual(os.stat(watch.folder).st_mode & 0o077, 0)
        self.assertEqual(gpumem._watches, ())

    def test_it_names_who_holds_what_came_since(self):
        rows = WatchTest.rows = []
        with gpumem.watch() as watch:
            rows.extend({"row": number} for number in range(20000))
        del WatchTest.rows
        with open(os.path.join(watch.folder, "events.jsonl")) as f:
            holders = json.loads(f.read().splitlines()[-1])["holders"]
        self.assertIn("rows", holders[0]["path"])

    def test_a_forked_child_leaves_the_recording_to_its_parent(self):
        with gpumem.watch(interval=0.01) as watch:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # newer ones warn of forks beside threads
                program = os.fork()
            if program == 0:
                code = 1
                try:
                    gpumem.step()
                    gpumem.mark("of the child")
                    watch.__exit__(None, None, None)
                    code = 0 if gpumem._watches == () else 2
                    del watch  # its folder is the parent's, too
                finally:
                    os._exit(code)
            self.assertEqual(os.waitpid(program, 0)[1], 0)
            gpumem.mark("of the parent")
        with open(os.path.join(watch.folder, "events.jsonl")) as f:
            text = f.read()
        self.assertIn("of the parent", text)
        self.assertNotIn("of the child", text)

    def test_a_folder_that_is_not_empty_is_refused_and_one_that_is_kept_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "new")
            with gpumem.watch(out=out):
                pass
            self.assertEqual(sorted(os.listdir(out)), ["events.jsonl", "run.json", "samples.csv"])
            with self.assertRaisesRegex(FileExistsError, "not empty"):
                gpumem.watch(out=out).__enter__()
            self.assertEqual(gpumem._watches, ())

    def test_what_is_asked_too_early_or_twice_says_so(self):
        watch = gpumem.watch()
        with watch:
            with self.assertRaisesRegex(RuntimeError, "not over"):
                watch.verdict
        with self.assertRaisesRegex(RuntimeError, "once"):
            watch.__enter__()
        with self.assertRaisesRegex(ValueError, "interval"):
            gpumem.watch(interval=0)

    def test_without_the_program_a_watch_is_undecided_and_says_why(self):
        with gpumem.watch() as watch:
            pass
        nowhere = os.path.join(watch.folder, "nowhere")
        with unittest.mock.patch.dict("os.environ", {"GPUMEM_BINARY": nowhere}):
            self.assertEqual(watch.verdict, "undecided")
            self.assertIn("GPUMEM_BINARY names", watch.answer)
            self.assertIsNone(watch._repr_html_())


if __name__ == "__main__":
    unittest.main()
