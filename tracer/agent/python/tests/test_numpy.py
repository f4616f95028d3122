"""Arrays on the host, of a stand-in for NumPy: what looks and the end count."""

import sys
import time
import types
import unittest
import unittest.mock

from gpumem_agent.frameworks.numpy import Numpy
from gpumem_agent.holders import contents, ending, living
from gpumem_agent.surveys import Surveys

KIB = 1 << 10
NUMBER, SIZE = 40, 512 * KIB


class HostArray:
    """It has memory of its own and knows how much, as NumPy's does."""

    dtype = "uint8"

    def __init__(self, nbytes):
        self._told = nbytes
        self.shape = (nbytes,)

    nbytes = property(lambda self: self._told)
    base = property(lambda self: self.of)
    of = None  # whose memory it shows

    def __sizeof__(self):
        return self._told if self.of is None else 112


class CountedOnceTest(unittest.TestCase):
    def setUp(self):
        stand_in = types.SimpleNamespace(ndarray=HostArray)
        patched = unittest.mock.patch.dict(sys.modules, numpy=stand_in)
        patched.start()
        self.addCleanup(patched.stop)
        self.process = types.SimpleNamespace(
            frameworks=[], sites_wanted=False, held=lambda: (None, None), idle=None, heap_now=lambda: None, exiting=True
        )
        self.surveys = Surveys()
        self.surveys.take(self.process, self.process.frameworks)

    def keep(self, **names):
        globals().update(names)
        self.addCleanup(lambda: [globals().pop(n, None) for n in names])

    def told(self):
        """What a look tells, and what the end does: {path: (bytes, number)} of each."""
        self.assertTrue(self.surveys.look_now(self.process, time.monotonic() + 20))
        self.process.survivors = self.surveys.reference()
        end = ending.find(self.process, time.monotonic() + 20)
        for holders in (self.surveys.told, end):
            yield {h["path"].replace(__name__, "M"): (h["bytes"], h["count"]) for h in holders}

    def test_arrays_of_a_list_count_once(self):
        self.keep(kept=[HostArray(SIZE) for _ in range(NUMBER)])
        for holders in self.told():
            self.assertEqual(holders["list M.kept"], (NUMBER * SIZE, NUMBER))

    def test_what_is_beside_the_arrays_counts_as_well(self):
        rows = [{"array": HostArray(SIZE), "text": "x" * 100 * KIB + str(n)} for n in range(NUMBER)]
        self.keep(rows=rows)
        del rows
        for holders in self.told():
            size = sum(size for size, _ in holders.values())
            beside = size - NUMBER * SIZE
            self.assertTrue(NUMBER * 90 * KIB < beside < NUMBER * 120 * KIB, holders)

    def test_what_cupy_has_pinned_counts_and_no_other_memory_of_others(self):
        pinned = types.SimpleNamespace(PinnedMemoryPointer=type("PinnedMemoryPointer", (), {}))
        with unittest.mock.patch.dict(sys.modules, {"cupy.cuda.pinned_memory": pinned}):
            for of, size in ((pinned.PinnedMemoryPointer, SIZE), (types.SimpleNamespace, None)):
                array = HostArray(SIZE)
                array.of = of()
                array.of.mem = object()
                told = Numpy(sys.modules["numpy"]).describe(array)
                self.assertEqual(told and told[1], size)
                self.assertEqual(contents.size(array) >= SIZE, size is not None)

    def test_what_shows_a_tensors_memory_counts_as_that_and_once(self):
        class Tensor:
            bytes = SIZE

        torch = types.SimpleNamespace(
            name="torch", kinds=lambda: (Tensor,), describe=lambda t: (id(t), t.bytes, "Tensor") if t.bytes else None
        )
        tensor, array = Tensor(), HostArray(SIZE // 2)
        array.of = tensor
        described = Numpy(sys.modules["numpy"], (torch,)).describe(array)
        whole = living.Array(1, None, "Tensor", torch.describe(tensor), torch)
        shown = living.Array(2, None, "ndarray", described, types.SimpleNamespace(name="numpy"))
        self.assertEqual((shown.key, shown.size, shown.shown), (whole.key, SIZE, SIZE // 2))
        below, _ = contents._below([array], set(), 9)
        self.assertGreater(below, 0, "the tensor itself")
        self.assertEqual(contents._below([array], set(), 9, told={id(array)}), (0, 0))
        tensor.bytes = 0  # it is elsewhere, or has no memory
        self.assertIsNone(Numpy(sys.modules["numpy"], (torch,)).describe(array))


if __name__ == "__main__":
    unittest.main()
