"""Whether lines of the program have run."""

import functools
import sys
import types
import unittest
from unittest import mock

from gpumem_agent.holders import runs

TEXT = """import functools

def said(function):
    @functools.wraps(function)
    def wrapper(*given):
        return function(*given)
    return wrapper

class Desk:
    def __init__(self):
        self.open = {}

    def leave(self, number):
        if number < 0:
            self.open.popitem(number)
        self.open.pop(number, None)

    @said
    def shut(self, number):
        del self.open[number]

def drop(desk, number):
    desk.open.pop(number, None)
"""
LEAVES, NEVER = "/app/desk.py:16 leave", "/app/desk.py:15 leave"
SHUTS, DROPS = "/app/desk.py:20 shut", "/app/desk.py:23 drop"


@unittest.skipIf(sys.version_info < (3, 11), "before 3.11 no interpreter puts faster instructions in a line's place")
class RunsTest(unittest.TestCase):
    def setUp(self):
        module = types.ModuleType("desk")
        module.__file__ = "/app/desk.py"
        exec(compile(TEXT, "/app/desk.py", "exec"), module.__dict__)
        patched = mock.patch.dict(sys.modules, {"desk": module})
        patched.start()
        self.addCleanup(patched.stop)
        self.desk = module.Desk()
        self.drop = functools.partial(module.drop, self.desk)

    def test_a_line_has_run_once_it_ran_some_times(self):
        self.assertFalse(any(map(runs.has_run, (LEAVES, NEVER, SHUTS, DROPS))))
        for number in range(20):
            self.desk.open[number] = number
            self.desk.leave(number - 1 if number else number)
        self.assertTrue(runs.has_run(LEAVES))
        self.assertFalse(any(map(runs.has_run, (NEVER, SHUTS, DROPS))))

    def test_functions_and_what_a_decorator_hides_are_found(self):
        for number in range(20):
            self.desk.open[number] = number
            self.desk.shut(number)
            self.drop(number)
        self.assertTrue(runs.has_run(SHUTS))
        self.assertTrue(runs.has_run(DROPS))

    def test_what_is_not_known_has_not_run(self):
        for number in range(20):
            self.desk.leave(number)
        others = "/app/desk.py leave", "/app/desk.py:16 go", "/app/desk.py:99 leave", "/app/other.py:16 leave"
        for site in ("", "desk", *others):
            self.assertFalse(runs.has_run(site), site)
        # An interpreter that tells nothing.
        with mock.patch.object(runs, "hasattr", lambda *_: False, create=True):
            self.assertFalse(runs.has_run(LEAVES))

    def test_holders_are_marked(self):
        for number in range(20):
            self.desk.leave(number)
        told = [{"taken": LEAVES}, {"taken": NEVER}, {"emptied": LEAVES}]
        runs.mark(told)
        self.assertEqual(told, [{"taken": LEAVES, "taken_ran": True}, {"taken": NEVER}, {"emptied": LEAVES}])


if __name__ == "__main__":
    unittest.main()
