"""MLX. To ask its allocator brings a Metal device to life, and nothing tells
whether the program did. Every array holds a reference to its type, though, so
the type's reference count says when the program has made its first one."""

import sys

from gpumem_agent.frameworks import Framework, add


def open_framework(module, process):
    return Mlx(module)


class Mlx(Framework):
    name = "mlx"

    def __init__(self, core):
        self._core = core
        self._idle_refs = sys.getrefcount(core.array)
        self._used = False
        self._active = _either(core, "get_active_memory")
        self._cache = _either(core, "get_cache_memory")
        self._clear = _either(core, "clear_cache")

    def active(self):
        if not self._used and self._active is not None:
            self._used = sys.getrefcount(self._core.array) > self._idle_refs
        return self._used

    def facts(self):
        versions = {"mlx": str(getattr(self._core, "__version__", "unknown"))}
        facts = {"device": str(self._core.default_device()), "versions": versions}
        metal = getattr(self._core, "metal", None)
        if metal is not None and metal.is_available():
            info = getattr(metal, "device_info", dict)()
            facts["unified_memory"] = True
            if info.get("device_name"):
                facts["device"] = str(info["device_name"])
            if info.get("memory_size"):
                facts["capacity_bytes"] = int(info["memory_size"])
        return facts

    def sample(self, row):
        idle = self._cache() if self._cache else None
        add(row, 0, pool_live_bytes=self._active(), pool_idle_bytes=idle)

    def live_bytes(self):
        return self._active()

    def purge(self):
        if self._clear is None:
            return None
        before = self._cache() if self._cache else None
        self._clear()
        return None if before is None else max(0, before - self._cache())

    def sync(self):
        self._core.synchronize()

    def untracked_kinds(self):
        return (self._core.array,)

    def describe(self, array):
        try:
            group = "%s %s" % (tuple(array.shape), array.dtype)
            return id(array), int(array.nbytes), group
        except Exception:
            return None


def _either(core, name):
    """A function of mlx.core; older versions keep it under metal."""
    return getattr(core, name, None) or getattr(getattr(core, "metal", None), name, None)
