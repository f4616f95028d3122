"""Whether a program records itself, and which line has it do so."""

import os
import sys
import tempfile
import types
import unittest
import unittest.mock

from gpumem_agent import profilers
from gpumem_agent.holders import texts
from gpumem_agent.profilers import Profilers


def prof():
    def profile(model):
        return model

    return profile(1)  # the line that begins it


class ProfilersTest(unittest.TestCase):
    def setUp(self):
        self.module = types.SimpleNamespace(_is_profiler_enabled=True)
        for patch in (
            unittest.mock.patch.dict(sys.modules, {profilers.MODULE: self.module}),
            unittest.mock.patch.object(texts, "program_files", lambda: [__file__]),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.profilers = Profilers()

    def told(self, *moments):
        """The moments at which there are news."""
        return [now for now in moments if self.profilers.news(now)]

    def test_one_that_goes_on_is_told_ever_more_seldom(self):
        self.assertEqual(self.told(10, 12, 14, 16, 18, 20, 26, 28, 42), [14, 18, 26, 42])

    def test_its_line_is_told_and_for_how_long_it_has_recorded(self):
        self.profilers.news(10)
        site, detail = self.profilers.news(14.5)
        with open(__file__, encoding="utf-8") as file:
            number = 1 + next(n for n, line in enumerate(file) if "# the line that begins it" in line)
        self.assertEqual(site, "%s:%d prof" % (__file__, number))
        self.assertEqual(detail, {"by": "torch.profiler", "seconds": 4.5})

    def test_one_that_stops_and_begins_anew_is_another(self):
        self.assertEqual(self.told(10, 12), [])
        self.module._is_profiler_enabled = False
        self.assertEqual(self.told(14), [])
        self.module._is_profiler_enabled = True
        self.assertEqual(self.told(16, 18, 20), [20])

    def test_a_program_without_one_has_none(self):
        del self.module._is_profiler_enabled
        self.assertEqual(self.told(10, 20), [])
        with unittest.mock.patch.dict(sys.modules, {profilers.MODULE: None}):
            self.assertEqual(self.told(30, 40), [])


class HistoryTest(unittest.TestCase):
    def setUp(self):
        self.text = "def main():\n    torch.cuda.memory._record_memory_history(stacks=stacks)\n"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "train.py")
        patch = unittest.mock.patch.object(texts, "program_files", lambda: [self.file])
        patch.start()
        self.addCleanup(patch.stop)
        self.profilers = Profilers()

    def news(self, text, has_history=True):
        with open(self.file, "w") as source:
            source.write(text)
        return [self.profilers.news(now, has_history) for now in (10, 15)][1]

    def test_a_history_that_is_recorded_on_is_told_with_its_line(self):
        site, detail = self.news(self.text)
        self.assertEqual(site, self.file + ":2 main")
        self.assertEqual(detail, {"by": "torch.cuda.memory", "seconds": 5})

    def test_one_with_a_bound_is_none(self):
        self.assertIsNone(self.news(self.text.replace("stacks=stacks", "max_entries=10_000")))

    def test_one_that_has_stopped_is_none(self):
        self.assertIsNone(self.news(self.text, False))


if __name__ == "__main__":
    unittest.main()
