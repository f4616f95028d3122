"""What a weak reference to a tensor is followed by."""

import types
import unittest
import weakref

import torch
from gpumem_agent.frameworks import torch as adapter


class Claimed:
    """Stands for a tensor of PyTorch's."""

    claims = 0

    def _fix_weakref(self):
        self.claims += 1


class Plain:
    """Stands for a module or an optimizer."""


class WeakTest(unittest.TestCase):
    def framework(self, version):
        copy = types.ModuleType("torch")
        vars(copy).update(vars(torch), __version__=version)
        return adapter.open_framework(copy, types.SimpleNamespace(late=None, sites_wanted=False))

    def test_a_tensor_is_claimed_and_nothing_else(self):
        framework = self.framework("2.11.0+cu130")
        tensor, module = Claimed(), Plain()
        self.assertIs(framework.alive(weakref.ref(tensor)), tensor)
        self.assertEqual(tensor.claims, 1)
        self.assertIs(framework.alive(weakref.ref(module)), module)
        reference = weakref.ref(Plain())
        self.assertIsNone(framework.alive(reference))

    def test_pytorch_1_is_not_told_for_it_would_never_free(self):
        tensor = Claimed()
        self.assertIs(self.framework("1.13.1").alive(weakref.ref(tensor)), tensor)
        self.assertEqual(tensor.claims, 0)
