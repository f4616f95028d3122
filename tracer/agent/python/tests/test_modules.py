"""The modules of the agent import one another one way."""

import ast
import os
import unittest

import gpumem_agent

FOLDER = os.path.dirname(gpumem_agent.__file__)


def imported():
    """{module: modules of the agent that it imports anywhere, also in functions}."""
    modules = {}
    for folder, _, files in os.walk(FOLDER):
        for file in (f for f in files if f.endswith(".py")):
            path = os.path.relpath(os.path.join(folder, file), os.path.dirname(FOLDER))
            name = path[: -len(".py")].replace(os.sep, ".")
            with open(os.path.join(folder, file), encoding="utf-8") as source:
                tree = ast.parse(source.read())
            modules[name.replace(".__init__", "")] = list(ast.walk(tree))
    return {name: set(_imports(nodes, modules)) for name, nodes in modules.items()}


def _imports(nodes, modules):
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            below = ["%s.%s" % (node.module, a.name) for a in node.names]
            yield from (b for b in below if b in modules)
            if node.module in modules and not all(b in modules for b in below):
                yield node.module


class ModulesTest(unittest.TestCase):
    def test_no_import_closes_a_circle_not_even_one_in_a_function(self):
        left = imported()
        self.assertIn("gpumem_agent.holders.living", left["gpumem_agent.holders.register"])
        left.pop("gpumem_agent")  # start, which begins it all
        while left:
            ready = [name for name, its in left.items() if not its & set(left)]
            self.assertTrue(ready, "these import one another: %s" % sorted(left))
            for name in ready:
                del left[name]
