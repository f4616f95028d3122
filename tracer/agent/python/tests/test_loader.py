import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import gpumem_agent

LATER = """
import builtins, sys
sys.path.append(sys.argv[1])
import gpumem_agent
from gpumem_agent import loader
loader.install()
compiled, compile_ = [], compile
builtins.compile = lambda source, path, *rest, **options: compiled.append(path) or compile_(source, path, *rest, **options)
from gpumem_agent.holders import words
from gpumem_agent.frameworks import beside
import mine
builtins.compile = compile_
print(*sorted(p.rsplit("/", 1)[-1] for p in compiled if p.startswith(sys.argv[1]) or p.endswith("mine.py")))
"""


class LoaderTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.lib = os.path.join(self.folder, "lib")
        package = os.path.dirname(gpumem_agent.__file__)
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, os.path.join(self.lib, "gpumem_agent"), ignore=leave)
        with open(os.path.join(self.folder, "mine.py"), "w") as mine:
            mine.write("kept = []\n")

    def compiled(self, *flags):
        """What a program compiles of our files and its own, which keeps nothing that is compiled."""
        program = os.path.join(self.folder, "program.py")
        with open(program, "w") as text:
            text.write(LATER)
        told = subprocess.run(
            [sys.executable, "-E", "-B", *flags, program, self.lib], stdout=subprocess.PIPE, check=True, timeout=60
        )
        return told.stdout.decode().split()

    def test_what_a_look_needs_is_compiled_once_and_nothing_of_the_programs_is_kept(self):
        first = self.compiled()
        self.assertIn("words.py", first)
        self.assertIn("beside.py", first)
        self.assertEqual(self.compiled(), ["mine.py"])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "__pycache__")))

    def test_what_is_kept_is_of_the_file_as_it_is_and_of_one_optimization(self):
        self.compiled()
        path = os.path.join(self.lib, "gpumem_agent", "holders", "words.py")
        with open(path, "a") as words:
            words.write("# longer\n")
        self.assertEqual(self.compiled(), ["mine.py", "words.py"])
        self.assertIn("words.py", self.compiled("-O"))
        self.assertEqual(self.compiled("-O"), ["mine.py"])
        self.assertEqual(self.compiled(), ["mine.py"])

    def test_where_nothing_can_be_kept_it_is_compiled_each_time(self):
        with open(os.path.join(self.lib, "gpumem_agent", "holders", "__pycache__"), "w"):
            pass  # a file in the folder's place
        for _ in range(2):
            self.assertIn("words.py", self.compiled())


if __name__ == "__main__":
    unittest.main()
