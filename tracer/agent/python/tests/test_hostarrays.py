"""Memory of the host that no framework tells: of tensors beside a device, and of arrays
that show what belongs to another."""

import sys
import types
import unittest
import unittest.mock

from gpumem_agent.holders import contents, hostarrays

MIB = 1 << 20
BATCH = 64


class Storage:
    def __init__(self, size):
        self.size = size

    def nbytes(self):
        return self.size


class Tensor:
    """A stand-in for PyTorch's."""

    def __init__(self, size, device="cpu", of=None):
        self.device = types.SimpleNamespace(type=device)
        self._size, self._storage = size, of or Storage(size)

    def untyped_storage(self):
        return self._storage

    def numel(self):
        return self._size // 4

    def element_size(self):
        return 4


class Fake(Tensor):
    """A tensor of a compiler's, which says that it is on the host and has no memory."""

    def __init__(self, size):
        super().__init__(size)
        self._storage.device = types.SimpleNamespace(type="meta")


class Array:
    """A stand-in for NumPy's, of the memory of another object."""

    __slots__ = ("_of",)

    def __init__(self, of):
        self._of = of

    base = property(lambda self: self._of)
    nbytes = property(lambda self: MIB)


class Unruly(Tensor):
    def untyped_storage(self):
        raise RuntimeError("it has no storage")


class Output:
    def __init__(self, image):
        self.image = image


class HostArraysTest(unittest.TestCase):
    def setUp(self):
        torch = types.SimpleNamespace(Tensor=Tensor, _C=types.SimpleNamespace())
        modules = {"torch": torch, "numpy": types.SimpleNamespace(ndarray=Array)}
        patched = unittest.mock.patch.dict(sys.modules, modules)
        patched.start()
        self.addCleanup(patched.stop)

    def each(self, make):
        return contents.deeper({n: Output(make(n)) for n in range(20)})

    def test_an_array_of_jax_counts_where_it_is_on_the_host(self):
        class ArrayImpl:
            nbytes = MIB

            def __init__(self, *platforms):
                self._platforms = platforms

            def devices(self):
                return [types.SimpleNamespace(platform=p) for p in self._platforms]

        module = types.SimpleNamespace(ArrayImpl=ArrayImpl)
        with unittest.mock.patch.dict(sys.modules, {"jax._src.array": module}):
            self.assertEqual(hostarrays.size(ArrayImpl("cpu", "cpu")), MIB)
            for elsewhere in (ArrayImpl("gpu"), ArrayImpl("cpu", "gpu"), object()):
                self.assertIsNone(hostarrays.size(elsewhere))

    def test_tensors_on_the_host_count_and_those_of_a_device_do_not(self):
        self.assertAlmostEqual(self.each(lambda n: Tensor(MIB)), MIB, delta=MIB / 50)
        self.assertLess(self.each(lambda n: Tensor(MIB, "cuda")), MIB / 50)

    def test_an_array_keeps_what_it_shows(self):
        self.assertAlmostEqual(self.each(lambda n: Array(Tensor(MIB))), MIB, delta=MIB / 50)
        self.assertAlmostEqual(self.each(lambda n: Array(bytearray(MIB))), MIB, delta=MIB / 50)

    def test_an_array_of_a_librarys_own_memory_counts_with_what_it_shows(self):
        # A plain object tells no size and refers to nothing, as a capsule of JAX's.
        self.assertAlmostEqual(self.each(lambda n: Array(object())), MIB, delta=MIB / 50)

    def test_rows_of_one_batch_count_as_rows(self):
        batch = Storage(BATCH * MIB)
        self.assertAlmostEqual(self.each(lambda n: Tensor(MIB, of=batch)), MIB, delta=MIB / 50)

    def test_what_all_of_them_show_is_nobodys(self):
        table = bytearray(MIB)
        self.assertLess(self.each(lambda n: Array(table)), MIB / 50)

    def test_what_a_compiler_has_in_place_of_tensors_counts_not(self):
        self.assertLess(self.each(lambda n: Fake(MIB)), MIB / 50)

    def large(self, shared):
        """Of elements with many objects each, beside those that all of them have."""
        made = [[bytes(100) for _ in range(30)] for _ in range(30)]
        return types.SimpleNamespace(made=dict(enumerate(made)), shared=shared)

    def test_one_of_large_elements_is_looked_at_to_its_end(self):
        shared = [[bytes(MIB)] for _ in range(1000)]
        kept, one = [self.large(shared) for _ in range(12)], 30 * 30 * 133
        self.assertLess(contents.deeper(kept), one / 1.5)
        wholes = contents.Wholes()
        for _ in range(contents.WHOLES):
            self.assertAlmostEqual(contents.deeper(kept, (), wholes), one, delta=one / 4)
        self.assertLess(contents.deeper(kept, (), wholes), one / 1.5, "no more of these in a look")

    def test_a_tensor_without_memory_has_none(self):
        self.assertLess(self.each(lambda n: Unruly(MIB)), MIB / 50)
