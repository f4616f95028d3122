"""What PyTorch's allocators say of their devices: cuda and xpu, and mps."""

import sys

from gpumem_agent.frameworks import add, add_columns
from gpumem_agent.own import own

ALL_DEVICES_EVERY = 20  # samples between two looks at devices that were not in use
# Columns of a backend with a caching allocator.
COLUMNS = (
    "pool_live_bytes",
    "pool_idle_bytes",
    "live_count",
    "allocs",
    "frees",
    "pool_misses",
)
MPS_FIRST_SECONDS = 1.0  # between scans for tensors on mps, doubled each time
MPS_LAST_SECONDS = 64.0


class Stats:
    """A backend with PyTorch's caching allocator: cuda or xpu.

    The counters come from memory_stats_as_nested_dict, PyTorch's public name
    for its allocator's own copy of the counters; it takes the allocator's lock
    for that copy, as every way to the counters does, and nothing else. Where
    what is behind that name is where it has long been, it is asked itself: the
    way there costs as much as the copy."""

    @classmethod
    def of(cls, torch, name):
        module = getattr(torch, name, None)
        needed = ("is_initialized", "memory_stats_as_nested_dict")
        # Some versions keep the second name in the memory submodule only.
        places = (module, getattr(module, "memory", None))
        found = [next((getattr(p, n) for p in places if hasattr(p, n)), None) for n in needed]
        if module is None or None in found:
            return None
        direct = getattr(getattr(torch, "_C", None), "_%s_memoryStats" % name, None)
        return cls(torch, name, module, *found, direct)

    def __init__(self, torch, name, module, initialized, stats, direct=None):
        self._torch = torch
        self._name = name
        self._module = module
        self._initialized = initialized
        self._stats = stats
        self._direct = direct  # to be tried
        self._count = None
        self._busy = []
        self._turn = 0
        self._columns = {}  # of a device: names made once
        self._is_active = False

    wants_optimizers = False  # is_initialized tells all

    @property
    def name(self):
        """cuda or xpu."""
        return self._name

    def forked(self):
        self._is_active = False

    def active(self):
        if not self._is_active:  # else it stays so
            self._is_active = bool(self._initialized())
        return self._is_active

    def _try_direct(self):
        """Takes the short way to the counters if it tells the same."""
        direct, self._direct = self._direct, None
        try:
            if direct(0).keys() == self._stats(0).keys():
                self._stats = direct
        except Exception:
            pass  # of another version: the public way stays

    def sample(self, row):
        if self._direct is not None:
            self._try_direct()
        self._turn += 1
        devices = self._busy
        if not devices or self._turn % ALL_DEVICES_EVERY == 0:
            devices = range(self._devices())
        busy = []
        for device in devices:
            stats = self._stats(device)
            if not stats:
                continue
            reserved = stats["reserved_bytes"]["all"]["current"]
            blocks = stats["allocation"]["all"]
            if not reserved and not blocks["allocated"]:
                continue
            busy.append(device)
            live = stats["allocated_bytes"]["all"]["current"]
            idle = max(0, reserved - live)
            segments = stats.get("segment", {}).get("all", {}).get("allocated")
            counts = blocks["current"], blocks["allocated"], blocks["freed"], segments
            own = self._columns.get(device) or self._name_columns(device)
            add_columns(row, COLUMNS, own, (live, idle) + counts)
        self._busy = busy
        if not busy:
            # It is initialised and holds nothing: that is known, and zero.
            add(row, 0, pool_live_bytes=0, pool_idle_bytes=0, live_count=0)

    def _devices(self):
        """How many there are."""
        if self._count is None:
            self._count = int(self._module.device_count())
        return self._count

    def _name_columns(self, device):
        self._columns[device] = tuple("%s@%d" % (name, device) for name in COLUMNS)
        return self._columns[device]

    def _sum(self, kind):
        stats = (self._stats(device) for device in range(self._devices()))
        return sum(s[kind]["all"]["current"] for s in stats if s)

    def live_bytes(self):
        return self._sum("allocated_bytes")

    def live_count(self):
        """How many blocks are handed out."""
        return self._sum("allocation")

    def purge(self):
        before = self._sum("reserved_bytes")
        self._module.empty_cache()
        pinned = getattr(self._torch._C, "_host_emptyCache", None)
        if pinned is not None and self._name == "cuda":
            pinned()  # idle pinned host memory; its size is not claimed
        return max(0, before - self._sum("reserved_bytes"))

    def sync(self):
        for device in self._busy or [0]:
            self._module.synchronize(device)

    def facts(self):
        properties = self._module.get_device_properties(0)
        facts = {"device": str(properties.name)}
        memory = getattr(properties, "total_memory", 0)
        if memory:
            facts["capacity_bytes"] = int(memory)
        integrated = getattr(properties, "is_integrated", None)
        if integrated is not None:
            facts["unified_memory"] = bool(integrated)
        return facts


class Mps:
    """Apple's GPU. Nothing tells whether the program uses it, and to ask the
    allocator brings it to life; so it counts as active from the first sight of
    a tensor there: in an optimizer, or in a scan at growing intervals."""

    @classmethod
    def of(cls, torch):
        module = getattr(torch, "mps", None)
        if sys.platform != "darwin" or not hasattr(module, "current_allocated_memory"):
            return None
        return cls(torch, module)

    def __init__(self, torch, module):
        self._torch = torch
        self._module = module
        self._seen = False
        self._wait = MPS_FIRST_SECONDS
        self._next = own.monotonic() + self._wait

    wants_optimizers = True
    name = "mps"

    def forked(self):
        """What was seen stays seen."""

    def note(self, optimizer):
        """Looks where the parameters of an optimizer are."""
        if self._seen:
            return
        for group in optimizer.param_groups:
            for parameter in group["params"][:1]:
                self._seen = self._seen or parameter.device.type == "mps"

    def active(self):
        now = own.monotonic()
        if not self._seen and now >= self._next:
            self._wait = min(self._wait * 2, MPS_LAST_SECONDS)
            self._next = now + self._wait
            from gpumem_agent.holders.living import references

            self._seen = any(map(self._is_here, references((self._torch.Tensor,)).values()))
        return self._seen

    @staticmethod
    def _is_here(reference):
        tensor = reference()
        return tensor is not None and tensor.device.type == "mps"

    def sample(self, row):
        live = self._module.current_allocated_memory()
        driver = self._module.driver_allocated_memory()
        add(row, 0, pool_live_bytes=live, pool_idle_bytes=max(0, driver - live))

    def live_bytes(self):
        return self._module.current_allocated_memory()

    def purge(self):
        before = self._module.driver_allocated_memory()
        self._module.empty_cache()
        return max(0, before - self._module.driver_allocated_memory())

    def sync(self):
        self._module.synchronize()

    def facts(self):
        return {"device": "Apple GPU (mps)", "unified_memory": True}
