"""A stand-in for CuPy: one pool on one device."""

__version__ = "0.0.fake"


class _Memory:
    def __init__(self, size):
        self.size, self.ptr = size, id(self)

    def __del__(self):
        _pool.free.append(self.size)
        _pool.used -= self.size


class _Pointer:
    def __init__(self, memory):
        self.mem = memory


class ndarray:
    dtype = "float32"

    def __init__(self, size):
        _pool.used += size
        self.data, self.shape = _Pointer(_Memory(size)), (size,)


class _Pool:
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


_pool = _Pool()


def get_default_memory_pool():
    return _pool


def get_default_pinned_memory_pool():
    return _Pool()


class cuda:
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
