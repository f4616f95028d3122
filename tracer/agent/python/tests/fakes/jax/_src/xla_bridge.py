import weakref

_backends = {}


class _Type(str):
    itemsize = 1


class _Sharding:
    @staticmethod
    def shard_shape(shape):
        return shape


class Array:
    dtype = _Type("float32")
    sharding = _Sharding

    def __init__(self, size):
        self.nbytes = size
        self.shape = (size,)

    def devices(self):
        return set(_backends["cuda"].local_devices())

    def is_deleted(self):
        return False


class _Device:
    id = local_hardware_id = 0
    device_kind = "Fake TPU"

    def __init__(self, client):
        self._client = client

    def memory_stats(self):
        live = sum(a.nbytes for a in self._client.arrays) + self._client.hidden
        figures = {"bytes_in_use": live, "pool_bytes": 1 << 30, "bytes_limit": 1 << 31}
        return dict(figures, num_allocs=self._client.allocs)


class _Client:
    def __init__(self):
        self.arrays, self.hidden = weakref.WeakSet(), 0
        self._devices = [_Device(self)]
        self.allocs = 0

    def local_devices(self):
        return self._devices

    def live_arrays(self):
        return list(self.arrays)


def get_backend():
    return _backends.setdefault("cuda", _Client())
