"""CuPy. Its pools tell bytes and free blocks; a live count is unknown."""

import gc
import sys

from gpumem_agent import atomic
from gpumem_agent.frameworks import Framework, add, arrays, total
from gpumem_agent.own import own

LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
OTHERS_SECONDS = 1.0  # between looks for pools that the program made
OTHERS_SHARE = 0.001  # of the time, for these, and
OTHERS_FOUND = 0.004  # where the last one found some
YOUNG_SECONDS = 0.25  # between looks for those that were made since


def open_framework(module, process):
    return Cupy(module)


class Cupy(Framework):
    name = "cupy"

    def __init__(self, cupy):
        self._cupy = cupy
        self._contexts = None
        self._others = Others(cupy)

    def prepare(self):
        self._contexts = Contexts()

    def active(self):
        return bool(self._devices())

    def _devices(self):
        return self._contexts.devices() if self._contexts else []

    def _each(self):
        """(device, pool) of the default pool, with the device current for this thread: its
        context exists, so making it current brings nothing to life; and of those that the
        program made."""
        pool = self._cupy.get_default_memory_pool()
        for device in self._devices():
            with self._cupy.cuda.Device(device):
                yield device, pool
        yield from self._others.alive(pool)

    def facts(self):
        runtime = self._cupy.cuda.runtime
        properties = runtime.getDeviceProperties(self._devices()[0])
        name = properties["name"]
        facts = {"device": name.decode() if isinstance(name, bytes) else str(name)}
        facts["capacity_bytes"] = int(properties["totalGlobalMem"])
        facts["unified_memory"] = bool(properties.get("integrated"))
        facts["versions"] = {"cupy": str(self._cupy.__version__)}
        return facts

    def sample(self, row):
        for device, pool in self._each():
            live, reserved = pool.used_bytes(), pool.total_bytes()
            if not reserved and len(self._devices()) > 1:
                continue
            add(
                row,
                device,
                pool_live_bytes=live,
                pool_idle_bytes=max(0, reserved - live),
                idle_count=pool.n_free_blocks(),
            )

    def live_bytes(self):
        return total([pool.used_bytes() for _, pool in self._each()])

    def composition(self):
        """Of the device that holds most: memory of arrays, and what only CuPy's own
        code holds. What an array is for, CuPy does not tell."""
        if not atomic.POSSIBLE:
            return None
        from gpumem_agent.holders.living import references

        live = {}
        for device, pool in self._each():
            live[device] = live.get(device, 0) + pool.used_bytes()
        device = max(live, key=live.get, default=None)
        held = {}  # bytes by address: views share them
        for reference in references(self.kinds()).values():
            array = reference()
            memory = getattr(getattr(array, "data", None), "mem", None)
            if memory is not None and getattr(memory, "device_id", device) == device:
                held[memory.ptr] = int(memory.size)
        sums = {arrays.ARRAYS: sum(held.values())}
        return arrays.composition(device, live.get(device), sums)

    def purge(self):
        claimed = []
        for _, pool in self._each():
            before = pool.total_bytes()
            pool.free_all_blocks()
            claimed.append(max(0, before - pool.total_bytes()))
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()
        return total(claimed)

    def sync(self):
        for device in self._devices():
            self._cupy.cuda.Device(device).synchronize()

    def kinds(self):
        return (self._cupy.ndarray,)

    def describe(self, array):
        try:
            memory = array.data.mem
            group = "%s %s" % (array.shape, array.dtype)
            return (memory.ptr,), int(memory.size), group
        except Exception:
            return None


class Others:
    """The pools of single devices of which the pools are made that the program made itself.
    Only a look at all objects finds them, so that it is taken now and then, and more often one
    at the young ones."""

    def __init__(self, cupy):
        self._cupy = cupy
        self._next = self._young_next = 0.0
        self._found = {}  # weak references by identity

    def alive(self, default):
        """(device, pool) of those that live."""
        now = own.monotonic()
        if now >= self._next:
            begun = own.thread_time()
            self._found = self._look(default, atomic.everything)
            share = OTHERS_FOUND if self._found else OTHERS_SHARE
            self._next = now + max(OTHERS_SECONDS, (own.thread_time() - begun) / share)
            self._young_next = now + YOUNG_SECONDS
        elif now >= self._young_next:
            self._found.update(self._look(default, atomic.younger))
            self._young_next = now + YOUNG_SECONDS
        for reference in list(self._found.values()):
            pool = reference()
            if pool is not None:
                yield pool._device_id, pool

    def _look(self, default, every):
        kind = getattr(sys.modules.get(self._cupy.__name__ + ".cuda.memory"), "SingleDeviceMemoryPool", None)
        if kind is None or not hasattr(kind, "_device_id") or not atomic.POSSIBLE:
            return {}
        from gpumem_agent.holders.living import references

        defaults = {id(item) for item in _below(default, 2) if type(item) is kind}
        if not defaults and default.total_bytes():
            return {}  # of a version that keeps the default pool's otherwise
        for identity in defaults:
            self._found.pop(identity, None)  # it had none before
        found = references((kind,), every=every)
        return {identity: reference for identity, reference in found.items() if identity not in defaults}


def _below(item, steps):
    """The objects that one refers to in so many steps, as the collector sees it."""
    found = gc.get_referents(item)
    return found + [below for child in found if steps > 1 for below in _below(child, steps - 1)]


class Contexts:
    """Which devices have a live context, asked of the driver that the program
    loaded. The driver is never loaded nor initialised by the question: before
    its own initialisation it answers "not initialised"."""

    def __init__(self):
        self._driver = None

    def _open(self):
        import ctypes
        import os

        for name in LIBRARIES:
            try:
                mode = os.RTLD_LAZY | os.RTLD_NOLOAD
                self._driver = ctypes.CDLL(name, mode=mode)
                self._int = ctypes.c_int
                self._unsigned = ctypes.c_uint
                self._by_reference = ctypes.byref
                return
            except (OSError, AttributeError):
                continue

    def devices(self):
        if self._driver is None:
            self._open()
        if self._driver is None:
            return []
        count = self._int()
        if self._driver.cuDeviceGetCount(self._by_reference(count)) != 0:
            return []
        return [d for d in range(count.value) if self._alive(d)]

    def _alive(self, device):
        flags, active = self._unsigned(), self._int()
        code = self._driver.cuDevicePrimaryCtxGetState(
            device, self._by_reference(flags), self._by_reference(active)
        )
        return code == 0 and active.value == 1
