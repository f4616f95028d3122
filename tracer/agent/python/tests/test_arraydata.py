"""When NumPy's handler of arrays' data is taken for what it should be."""

import sys
import types
import unittest
from unittest import mock

from gpumem_agent import arraydata
from gpumem_agent.arraydata import find_handler

TABLE, VARIABLE, CAPSULE, HANDLER, CODE = 0x10000, 0x20000, 0x30000, 0x40000, 0x50000
FILE = "/lib/numpy/core/_multiarray_umath.so"


def words(*values):
    return b"".join(value.to_bytes(8, "little") for value in values)


class Native:
    """A process in which NumPy keeps its handler, as far as a test does not change it."""

    Int = Size = Pointer = Text = int


    def __init__(self, table):
        self.is_locked = 0  # what a thread without the lock is told
        self.pointers = {id(table): TABLE, CAPSULE: HANDLER}
        functions = (CODE + 16 * n for n in range(4))
        self.memory = {
            TABLE + 306 * 8: words(VARIABLE),
            VARIABLE: words(CAPSULE),
            CAPSULE + arraydata.TYPE: words(id(type(table))),
            HANDLER: b"default_allocator".ljust(127, b"\0") + b"\x01" + words(0, *functions),
        }

    def function(self, name, result, *arguments, is_python=False):
        return {
            "PyGILState_Check": lambda: self.is_locked,
            "PyCapsule_GetPointer": lambda capsule, name: self.pointers[capsule],
            "gpumem_python_copy": None,
        }[name]


class Memory:
    """Stands in for arraydata.Memory, which the interposer reads."""

    def __init__(self, native):
        self._memory = native.memory

    def bytes(self, at, size):
        if len(self._memory.get(at, b"")) < size:
            raise OSError("no memory at %#x" % at)
        return self._memory[at][:size]

    def word(self, at):
        return int.from_bytes(self.bytes(at, 8), "little")


class FindHandlerTest(unittest.TestCase):
    def setUp(self):
        self.table = object()
        self.native = Native(self.table)
        self.module = types.SimpleNamespace(
            _ARRAY_API=self.table, get_handler_name=None, __file__=FILE
        )
        self.mappings = [
            (CODE, CODE + 4096, "r-xp", "_multiarray_umath.so"),
            (HANDLER, HANDLER + 4096, "rw-p", "_multiarray_umath.so"),
        ]
        self.modules = {"numpy": types.ModuleType("numpy"), "numpy.core._multiarray_umath": self.module}
        for patch in (
            mock.patch.object(arraydata, "Memory", Memory),
            mock.patch.object(arraydata, "mappings", lambda: self.mappings),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def found(self):
        others = {name: module for name, module in sys.modules.items() if "numpy" not in name}
        with mock.patch.dict(sys.modules, {**others, **self.modules}, clear=True):
            return find_handler(self.native)

    def test_numpys_own_is_found_in_either_place(self):
        self.assertEqual(self.found(), HANDLER)
        self.modules["numpy._core._multiarray_umath"] = self.modules.pop("numpy.core._multiarray_umath")
        self.modules["numpy.core._multiarray_umath"] = types.SimpleNamespace()  # of NumPy 2: a stand-in
        self.assertEqual(self.found(), HANDLER)

    def test_while_numpy_is_not_loaded_it_may_come_later(self):
        del self.module._ARRAY_API
        self.assertIsNone(self.found())
        self.modules.clear()
        self.assertIsNone(self.found())

    def test_one_before_handlers_is_left_alone(self):
        del self.module.get_handler_name
        self.assertEqual(self.found(), 0)

    def test_an_interpreter_that_does_not_know_who_has_its_lock_is_left_alone(self):
        self.native.is_locked = 1
        self.assertEqual(self.found(), 0)

    def test_what_is_no_capsule_is_left_alone(self):
        self.native.memory[CAPSULE + arraydata.TYPE] = words(id(int))
        self.assertEqual(self.found(), 0)

    def test_a_handler_that_is_not_as_known_is_left_alone(self):
        known = self.native.memory[HANDLER]
        elsewhere = words(CODE - 8)
        for other in (
            known.replace(b"default", b"another"),
            known[:127] + b"\x02" + known[128:],
            known[:136] + elsewhere + known[144:],
            known[:160] + elsewhere,
        ):
            self.native.memory[HANDLER] = other
            self.assertEqual(self.found(), 0)
        self.native.memory[HANDLER] = known
        self.assertEqual(self.found(), HANDLER)

    def test_memory_that_cannot_be_written_to_is_left_alone(self):
        low, high, _, name = self.mappings[1]
        self.mappings[1] = low, high, "r--p", name
        self.assertEqual(self.found(), 0)

    def test_another_librarys_functions_are_left_alone(self):
        low, high, how, _ = self.mappings[0]
        self.mappings[0] = low, high, how, "tracer.so"
        self.assertEqual(self.found(), 0)


if __name__ == "__main__":
    unittest.main()
