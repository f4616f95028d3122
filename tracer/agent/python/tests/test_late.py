"""What an agent that came late says of what it leaves behind."""

import ast
import os
import subprocess
import sys
import unittest

import gpumem_agent
from gpumem_agent import late


class LibrariesTest(unittest.TestCase):
    def test_each_library_that_the_agent_imports_is_told_if_the_program_lacked_it(self):
        bare = "import os, sys; print(*sys.modules)"
        there = subprocess.check_output([sys.executable, "-I", "-S", "-c", bare], text=True).split()
        imported = set()
        for folder, _, files in os.walk(os.path.dirname(gpumem_agent.__file__)):
            for file in files:
                if file.endswith(".py"):
                    with open(os.path.join(folder, file)) as source:
                        imported |= names(ast.parse(source.read()))
        self.assertIn("gzip", imported)
        self.assertEqual(imported - set(there) - late.LIBRARIES - {"gpumem_agent"}, set())


def names(tree):
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.partition(".")[0])
    return found


if __name__ == "__main__":
    unittest.main()
