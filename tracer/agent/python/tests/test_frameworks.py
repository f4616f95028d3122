"""Figures of CuPy and PyTorch, and the forms in which frameworks tell allocation sites."""

import gc
import gzip
import importlib.util
import sys
import types
import unittest

import cupy
import jax
from gpumem_agent import sites
from gpumem_agent.frameworks import arrays
from gpumem_agent.frameworks import cupy as adapter
from gpumem_agent.frameworks import jax as jax_adapter
from gpumem_agent.frameworks import numpy as numpy_adapter
from gpumem_agent.frameworks import torch_backends, torch_oom


class Contexts:
    """Stands for the driver: which devices have a context."""

    def __init__(self, *alive):
        self.alive = list(alive)

    def devices(self):
        return self.alive


class CupyTest(unittest.TestCase):
    def setUp(self):
        self.framework = adapter.open_framework(cupy, None)
        self.framework._contexts = Contexts(0)
        cupy.get_default_memory_pool().free_all_blocks()

    def test_without_a_driver_in_the_process_no_device_is_alive(self):
        self.framework.prepare()
        self.assertFalse(self.framework.active())

    def test_the_pool_tells_bytes_and_free_blocks_and_no_live_count(self):
        kept = [cupy.ndarray(4096), cupy.ndarray(1024)]
        freed = cupy.ndarray(512)
        del freed
        row = {}
        self.framework.sample(row)
        plain = {k: v for k, v in row.items() if "@" not in k}
        self.assertEqual(plain, {"pool_live_bytes": 5120, "pool_idle_bytes": 512, "idle_count": 1})
        self.assertEqual(row["pool_live_bytes@0"], 5120)
        self.assertEqual(self.framework.purge(), 512)
        del kept

    def test_pools_that_the_program_made_are_counted_along(self):
        pools = [cupy.cuda.MemoryPool(), cupy.cuda.MemoryPool()]
        kept, freed = cupy.ndarray(4096), [cupy.ndarray(512, pool) for pool in pools]
        inside = cupy.ndarray(1024, pools[1])
        freed.clear()
        row = {}
        self.framework.sample(row)
        plain = {k: v for k, v in row.items() if "@" not in k}
        self.assertEqual(plain, {"pool_live_bytes": 5120, "pool_idle_bytes": 1024, "idle_count": 2})
        self.assertEqual(self.framework.live_bytes(), 5120)
        self.assertEqual(self.framework.purge(), 1024)
        del inside, pools
        gc.collect()
        self.assertEqual(self.framework.live_bytes(), 4096, "they are not kept alive")
        del kept

    def test_pools_that_are_made_between_looks_at_all_objects_are_counted_too(self):
        gc.collect()
        before = self.framework.live_bytes()
        others = self.framework._others
        others._next = float("inf")
        pools = [cupy.cuda.MemoryPool() for _ in range(3)]
        arrays = [cupy.ndarray(512, pool) for pool in pools]
        self.assertEqual(self.framework.live_bytes(), before, "it was just asked")
        others._young_next = 0.0
        self.assertEqual(self.framework.live_bytes(), before + 1536)
        del pools[1:], arrays[1:]
        gc.collect()
        self.assertEqual(self.framework.live_bytes(), before + 512)

    def test_an_array_is_described_by_the_memory_it_holds(self):
        array = cupy.ndarray(4096)
        _, size, group = self.framework.describe(array)
        self.assertEqual((size, group), (4096, "(4096,) float32"))

    def test_live_memory_is_made_of_arrays_and_of_what_only_cupy_holds(self):
        before = self.framework.composition() or {"categories": {}}
        array = cupy.ndarray(4096)
        view = cupy.ndarray(0)
        view.data = array.data  # the same memory
        alone = cupy.ndarray(1000).data
        made = self.framework.composition()["categories"]
        self.assertEqual(made["other arrays of Python"], 4096)
        self.assertEqual(made["held by the framework alone"], 1000)
        self.assertEqual(sum(made.values()), cupy.get_default_memory_pool().used_bytes())
        del array, view, alone, before


    def test_an_error_of_pytorch_tells_what_another_framework_has_of_the_device(self):
        kept, freed = cupy.ndarray(4096), cupy.ndarray(512)
        del freed
        mine, quiet = types.SimpleNamespace(torch=None), adapter.open_framework(cupy, None)
        process = types.SimpleNamespace(frameworks=[mine, self.framework, quiet])
        told = {}
        torch_oom.OutOfMemory(mine, process)._add_beside(told, 0)
        self.assertEqual(told, {"beside": [{"name": "cupy", "live_bytes": 4096, "idle_bytes": 512}]})
        told = {}
        torch_oom.OutOfMemory(mine, process)._add_beside(told, 1)  # another device
        self.assertEqual(told, {})
        del kept


class Told:
    """Stands for the process that an error is told by."""

    def __init__(self):
        self.connection, self.hold = types.SimpleNamespace(is_open=True), False
        self.errors, self.told = [], []

    def failed(self, error):
        self.errors.append(error)

    def tell_oom(self, told, seconds):
        self.told.append(told)


class OutOfMemoryTest(unittest.TestCase):
    def test_an_error_while_the_agent_is_brought_in_is_told_as_far_as_it_goes(self):
        half = ImportError("cannot import name 'Name' from partially initialized module 'gpumem_agent.holders'")
        for error, errors in ((half, 0), (ImportError("no module named 'gpumem_agent.holders'"), 1)):
            process = Told()
            observer = torch_oom.OutOfMemory(None, process)

            def fails(told, device, error=error):
                raise error

            observer._add_stats = observer._add_beside = observer._add_blocks = lambda *_: None
            observer._add_holders = fails
            observer.observe(0, 100, 0, 50)
            self.assertEqual([(t["asked_bytes"], t["free_bytes"]) for t in process.told], [(100, 50)])
            self.assertEqual(len(process.errors), errors)


class JaxTest(unittest.TestCase):
    def test_what_it_may_have_is_told_with_what_it_has(self):
        framework = jax_adapter.open_framework(jax, self)
        kept = jax.zeros(3000)
        told = framework.limits()
        self.assertEqual(told["limit_bytes"], 1 << 31)
        self.assertEqual(told["live_bytes"], framework.live_bytes())
        self.assertGreaterEqual(told["live_bytes"], kept.nbytes)

    def test_live_memory_is_made_of_arrays_and_of_what_only_xla_holds(self):
        framework = jax_adapter.open_framework(jax, self)  # anything that a weak reference takes
        kept = [jax.zeros(3000), jax.zeros(500)]
        client = jax.monitoring and sys.modules["jax._src.xla_bridge"].get_backend()
        client.hidden = 700
        made = framework.composition()
        client.hidden = 0
        del kept
        want = {"other arrays of Python": 3500, "held by the framework alone": 700}
        self.assertEqual(made, {"device": 0, "categories": want})


class HostArray:
    """A stub of numpy's array: it has memory of its own, or is a view of what has."""

    dtype = "float64"

    def __init__(self, nbytes, base=None):
        self._told = nbytes, base
        self.shape = (nbytes // 8,)

    nbytes = property(lambda self: self._told[0])
    base = property(lambda self: self._told[1])


class NumpyTest(unittest.TestCase):
    def setUp(self):
        self.framework = numpy_adapter.Numpy(types.SimpleNamespace(ndarray=HostArray))

    def test_a_view_keeps_the_whole_array_that_it_is_of(self):
        whole = HostArray(4096)
        view = HostArray(32, HostArray(64, whole))
        told = id(whole), 4096, "(512,) float64"
        self.assertEqual(self.framework.describe(whole), (*told, 4096))
        self.assertEqual(self.framework.describe(view), (*told, 32))

    def test_small_arrays_and_memory_of_others_are_left_out(self):
        for array in (HostArray(512), HostArray(4096, b"mapped"), HostArray(8, HostArray(64))):
            self.assertIsNone(self.framework.describe(array))

    def test_a_real_view_is_told_as_its_array(self):
        if importlib.util.find_spec("numpy") is None:
            self.skipTest("numpy is not installed for this interpreter")
        import numpy

        array = numpy.zeros((64, 256))
        told = numpy_adapter.Numpy(numpy).describe(array[0, :4])
        self.assertEqual(told, (id(array), array.nbytes, "(64, 256) float64", 32))


class ArraysTest(unittest.TestCase):
    def test_categories_add_up_to_what_lives(self):
        for sums, want in (
            ({"parameters": 60, "other arrays of Python": 30}, {"held by the framework alone": 10}),
            ({"parameters": 60, "other arrays of Python": 70}, {"other arrays of Python": 40}),
            ({"parameters": 160}, {"arrays that share memory or are not computed yet": 100}),
            ({}, {"held by the framework alone": 100}),
        ):
            made = arrays.categories(100, dict(sums))
            self.assertEqual(sum(made.values()), 100)
            self.assertEqual({k: made.get(k) for k in want}, want)

    def test_nothing_is_made_up_where_live_bytes_are_unknown(self):
        self.assertIsNone(arrays.composition(0, None, {}))


class TorchCountersTest(unittest.TestCase):
    """Whence the counters of PyTorch's caching allocator come."""

    STATS = {
        "reserved_bytes": {"all": {"current": 8}},
        "allocated_bytes": {"all": {"current": 5}},
        "allocation": {"all": {"current": 1, "allocated": 3, "freed": 2}},
    }

    def live_bytes(self, direct):
        """What samples say in turn, when the public way says 5 bytes."""
        public = types.SimpleNamespace(device_count=lambda: 1)
        backend = torch_backends.Stats(None, "cuda", public, None, lambda _: self.STATS, direct)
        rows = [{}, {}]
        for row in rows:
            backend.sample(row)
        return [row["pool_live_bytes"] for row in rows]

    def test_the_short_way_is_taken_where_it_tells_the_same(self):
        short = dict(self.STATS, allocated_bytes={"all": {"current": 6}})
        self.assertEqual(self.live_bytes(lambda _: short), [6, 6])

    def test_the_public_way_stays_where_there_is_no_other(self):
        for direct in (None, lambda: self.STATS, lambda _: {}, lambda _: None):
            self.assertEqual(self.live_bytes(direct), [5, 5])


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def profile(samples):
    """A pprof profile as JAX writes it: samples of (kind, site, bytes, count);
    a site is (file, line, function)."""
    strings = ["", "allocations", "count", "space", "bytes", "kind"]

    def text(word):
        if word not in strings:
            strings.append(word)
        return strings.index(word)

    out = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4))
    for number, (kind, (file, line, function), size, count) in enumerate(samples, 1):
        out += field(5, field(1, number) + field(2, text(function)) + field(4, text(file)))
        out += field(4, field(1, number) + field(4, field(1, number) + field(2, line)))
        values = field(2, varint(count) + varint(size))
        label = field(3, field(1, 5) + field(2, text(kind)))
        out += field(2, field(1, varint(number)) + values + label)
    return out + b"".join(field(6, s.encode()) for s in strings)


class SitesTest(unittest.TestCase):
    def test_buffers_of_a_pprof_profile_add_up_by_site(self):
        line = ("train.py", 300, "step")
        raw = profile(
            [
                ("buffer", line, 1 << 20, 2),
                ("buffer", line, 5, 1),
                ("executable", ("train.py", 1, "compile"), 999, 1),
            ]
        )
        for form in (raw, gzip.compress(raw)):
            self.assertEqual(sites.from_pprof(form), {"train.py:300 step": [(1 << 20) + 5, 3]})

    def test_the_site_is_the_first_frame_of_the_program(self):
        inner = ("/x/torch/functional.py", 1, "zeros")
        own = ("/home/me/train.py", 7, "step")
        self.assertEqual(sites.choose([inner, own]), "/home/me/train.py:7 step")
        self.assertEqual(sites.choose([inner]), "/x/torch/functional.py:1 zeros")
        self.assertEqual(sites.choose([]), sites.NO_FRAME)

    def test_helpers_of_numpy_and_of_the_standard_library_are_no_site(self):
        place = "/usr/lib/python3"
        frames = [
            (place + "/dist-packages/numpy/core/numeric.py", 205, "ones"),
            (place + ".11/functools.py", 909, "wrapper"),
            ("<frozen importlib._bootstrap>", 241, "_call_with_frames_removed"),
            ("/home/me/load.py", 3, "load"),
        ]
        self.assertEqual(sites.choose(frames), "/home/me/load.py:3 load")

    def test_a_program_in_a_folder_called_torch_has_its_line(self):
        inner = ("/v/lib/python3.11/site-packages/torch/functional.py", 1, "zeros")
        self.assertEqual(
            sites.choose([inner, ("/home/me/torch/train.py", 7, "step")]), "/home/me/torch/train.py:7 step"
        )

    def test_growth_is_unknown_and_left_out_without_a_first_look(self):
        now = {"a": (10, 1), "b": (30, 2)}
        self.assertEqual(
            sites.compare(now, None),
            [{"site": "b", "bytes": 30, "count": 2}, {"site": "a", "bytes": 10, "count": 1}],
        )
        grown = sites.compare(now, {"b": (29, 2)})
        self.assertEqual([(s["site"], s["growth_bytes"]) for s in grown], [("a", 10), ("b", 1)])


if __name__ == "__main__":
    unittest.main()
