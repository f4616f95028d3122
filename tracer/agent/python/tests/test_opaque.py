"""Containers of objects whose bytes are an extension's."""

import datetime
import types
import unittest
import unittest.mock
import zlib

from gpumem_agent.holders import opaque


class Wrapper:
    def __init__(self):
        self.name, self.inner = "wrapper", zlib.compressobj()


class Around:
    """A property that C code reads, as those of C++ objects are."""

    size = property(len)


class Slotted:
    __slots__ = ("name",)


class OpaqueTest(unittest.TestCase):
    def setUp(self):
        # Of the standard library, as a stand-in for what others wrote in C.
        standard = unittest.mock.patch.object(opaque, "STANDARD", {"builtins", "datetime", "types"})
        standard.start()
        self.addCleanup(standard.stop)

    def test_elements_and_attributes_of_elements_of_an_extensions_class(self):
        kind = type(zlib.compressobj())
        self.assertIs(opaque.kind_of([zlib.compressobj() for _ in range(4)]), kind)
        self.assertIs(opaque.kind_of({n: zlib.compressobj() for n in range(4)}), kind)
        self.assertIs(opaque.kind_of([Wrapper() for _ in range(4)]), kind)

    def test_what_python_sees_and_what_is_mixed_is_left_out(self):
        for what in (
            [],
            [None, "text", b"bytes", 1.5, []],
            [datetime.datetime(2026, 1, 1)] * 4,
            [Slotted() for _ in range(4)],
            [types.SimpleNamespace(name="x") for _ in range(4)],
            [zlib.compressobj(), None],
            [lambda: None, lambda: None],
        ):
            self.assertIsNone(opaque.kind_of(what), what)

    def test_objects_a_little_below_elements(self):
        kind = type(zlib.compressobj())
        for what in (
            [(zlib.compressobj(), n, n) for n in range(4)],
            [[n, zlib.compressobj()] for n in range(4)],
            {n: {"made": zlib.compressobj()} for n in range(4)},
            [(n, Wrapper()) for n in range(4)],
            [types.SimpleNamespace(pair=(n, zlib.compressobj())) for n in range(4)],
        ):
            self.assertIs(opaque.kind_of(what), kind, what)
        self.assertIsNone(opaque.kind_of([([Wrapper()],) for _ in range(4)]), "too deep")
        many = [["name"] * opaque.PARTS + [zlib.compressobj()] for _ in range(4)]
        self.assertIsNone(opaque.kind_of(many), "too many parts")

    def test_what_elements_share_is_none_of_what_came(self):
        shared = zlib.compressobj()
        self.assertIsNone(opaque.kind_of([(shared, n) for n in range(4)]))
        pairs = [(shared, zlib.decompressobj()) for _ in range(4)]
        self.assertIs(opaque.kind_of(pairs), type(zlib.decompressobj()))

    def test_values_hold_nothing(self):
        with unittest.mock.patch.object(opaque, "STANDARD", {"builtins", "types"}):
            days = [datetime.timedelta(n) for n in range(4)]
            self.assertIsNone(opaque.kind_of(days))
            self.assertIsNone(opaque.kind_of([types.SimpleNamespace(day=day) for day in days]))

    def test_a_property_of_an_extension_is_not_pythons(self):
        self.assertFalse(opaque._is_python(vars(Around)["size"]))
        self.assertTrue(opaque._is_python(property(lambda self: 1)))
        self.assertTrue(opaque._is_python(vars(Wrapper)["__init__"]))

    def test_no_code_of_the_programs_runs(self):
        def asked(*_):
            raise AssertionError("asked")

        names = dict.fromkeys(("__iter__", "__hash__", "__len__", "__getattribute__", "values"), asked)
        for base in (tuple, list, dict, object):
            kind = type("Odd", (base,), names)
            self.assertIsNone(opaque.kind_of([kind() for _ in range(4)]))

    def test_arrays_that_are_told_are_none_of_them(self):
        kept = [zlib.compressobj() for _ in range(4)]
        self.assertIsNone(opaque.kind_of(kept, {id(kept[0])}))

    def test_it_is_told_in_number_alone(self):
        kept, added = [zlib.compressobj() for _ in range(4)], []
        path = types.SimpleNamespace(chain=[kept], of_kind=lambda: "list train.kept", facts=lambda: {"length": 4})
        holders = types.SimpleNamespace(add=lambda *entry: added.append(entry))
        opaque.add(holders, path, 3, set())
        self.assertEqual(added, [("Compress objects below train.kept", 0, 3, {"length": 4})])


if __name__ == "__main__":
    unittest.main()
