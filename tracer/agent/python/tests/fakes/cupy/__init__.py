"""A stand-in for CuPy: pools on one device."""

import collections
import sys
import types

__version__ = "0.0.fake"


class _Memory:
    def __init__(self, size, pool):
        self.size, self.ptr, self._pool = size, id(self), pool

    def __del__(self):
        self._pool.free.append(self.size)
        self._pool.used -= self.size


class _Pointer:
    def __init__(self, memory):
        self.mem = memory


class ndarray:
    dtype = "float32"

    def __init__(self, size, pool=None):
        pool = (_pool if pool is None else pool)._pools[0]
        pool.used += size
        self.data, self.shape = _Pointer(_Memory(size, pool)), (size,)


class SingleDeviceMemoryPool:
    _device_id = 0

    def __init__(self):
        self.used, self.free = 0, []

    def used_bytes(self):
        return self.used

    def total_bytes(self):
        return self.used + sum(self.free)

    def n_free_blocks(self):
        return len(self.free)

    def free_all_blocks(self):
        self.free.clear()


class MemoryPool:
    def __init__(self):
        self._pools = collections.defaultdict(SingleDeviceMemoryPool)

    def used_bytes(self):
        return self._pools[0].used_bytes()

    def total_bytes(self):
        return self._pools[0].total_bytes()

    def n_free_blocks(self):
        return self._pools[0].n_free_blocks()

    def free_all_blocks(self):
        self._pools[0].free_all_blocks()


_pool = MemoryPool()


def get_default_memory_pool():
    return _pool


def get_default_pinned_memory_pool():
    return MemoryPool()


_memory = types.ModuleType(__name__ + ".cuda.memory")
_memory.SingleDeviceMemoryPool = SingleDeviceMemoryPool
sys.modules[_memory.__name__] = _memory


class cuda:
    MemoryPool = MemoryPool

    class Device:
        def __init__(self, number):
            self.number = number

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

        def synchronize(self):
            pass

    class runtime:
        @staticmethod
        def getDeviceProperties(device):
            return {"name": b"Fake GPU", "totalGlobalMem": 8 << 30, "integrated": 0}
