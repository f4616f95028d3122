"""MLX. To ask its allocator brings a Metal device to life, and nothing tells
whether the program did. Every array holds a reference to its type, though, so
the type's reference count says when the program has made its first one."""

import sys

from gpumem_agent import atomic
from gpumem_agent.frameworks import Framework, add, arrays


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

    def came_late(self):
        """The references there are may be those of arrays."""
        from gpumem_agent.holders.living import references

        self._used = bool(references((), (self._core.array,)))

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

    def composition(self):
        """Arrays of modules are parameters, those of optimizers their state."""
        if not atomic.POSSIBLE or self._active is None:
            return None
        from gpumem_agent.holders.living import references

        modules = self._kind("mlx.nn.layers.base", "Module")
        optimizers = self._kind("mlx.optimizers.optimizers", "Optimizer")
        array, found = self._core.array, references((modules, optimizers), (self._core.array,))
        seen, sums = {}, {arrays.PARAMETERS: 0, arrays.OPTIMIZER: 0, arrays.ARRAYS: 0}
        living = [item for item in (r() for r in found.values()) if item is not None]
        for item in living:
            if isinstance(item, optimizers):
                _note(seen, vars(item).get("_state"), array, arrays.OPTIMIZER)
        for item in living:
            if isinstance(item, modules):
                _note(seen, item, array, arrays.PARAMETERS)
        for item in living:
            _note(seen, item, array, arrays.ARRAYS)
        for size, category in seen.values():
            sums[category] += size
        return arrays.composition(0, self._active(), sums)

    def _kind(self, module, name):
        """A type of MLX's, or one that has no objects."""
        return getattr(sys.modules.get(module), name, _Nothing)

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


class _Nothing:
    """In the place of a type that the program has not imported."""


def _note(seen, item, array, category):
    """Notes the arrays of a tree of dictionaries and lists: {identity: (bytes,
    category)}. No code of the program's is asked."""
    waiting = [item]
    while waiting:
        item = waiting.pop()
        if type(item) is array:
            seen.setdefault(id(item), (int(item.nbytes), category))
        elif isinstance(item, dict):
            waiting += dict.values(item)
        elif type(item) in (list, tuple):
            waiting += item


def _either(core, name):
    """A function of mlx.core; older versions keep it under metal."""
    return getattr(core, name, None) or getattr(getattr(core, "metal", None), name, None)
