"""JAX. Its num_allocs is a running total, not a live count; live arrays are
counted from the backend's own list while that is cheap."""

import math
import sys
import weakref

from gpumem_agent.compilations import Compilations
from gpumem_agent.frameworks import Framework, add, arrays, total
from gpumem_agent.own import own
from gpumem_agent.sampling import Budget

LIVE_SHARE = 0.0005  # of the time, for counting live arrays
LIVE_SECONDS = 0.2
COMPILED = "/jax/core/compile/backend_compile_duration"


def open_framework(module, process):
    return Jax(module, weakref.ref(process))


class Jax(Framework):
    name = "jax"
    knows_sites = True  # an array has the traceback of the call that made it
    compiled = COMPILED  # for a listener that may outlive this module

    def __init__(self, jax, process):
        self._jax = jax
        # JAX has the listener, a method of this object: a look that follows it must not
        # come to what the agent itself keeps.
        self._pipelines = 0
        self._compilations = Compilations(process, "jax")
        self._budget = Budget(LIVE_SHARE, LIVE_SECONDS)

    def arm(self):
        monitoring = getattr(self._jax, "monitoring", None)
        listen = getattr(monitoring, "register_event_duration_secs_listener", None)
        if listen is not None:
            listen(self._on_event)

    def disarm(self):
        monitoring = sys.modules.get("jax._src.monitoring")
        for name in (
            "unregister_event_duration_listener",
            "_unregister_event_duration_listener_by_callback",
        ):
            forget = getattr(monitoring, name, None)
            if forget is not None:
                forget(self._on_event)
                return []
        return ["a listener of JAX's that counts compilations"]

    def _on_event(self, event, *_, **__):
        if event == self.compiled:
            self._pipelines += 1
            self._compilations.count(sys._getframe(1))

    def forked(self):
        self._pipelines = 0
        self._compilations.clear()

    def _clients(self):
        """Backends that the program has initialised, the host's left out."""
        bridge = sys.modules.get("jax._src.xla_bridge")
        backends = getattr(bridge, "_backends", None) or {}
        return [c for name, c in list(backends.items()) if name not in ("cpu", "interpreter")]

    def active(self):
        return bool(self._clients())

    def _devices(self):
        """(number, device, figures) of devices that tell figures."""
        for client in self._clients():
            for device in client.local_devices():
                stats = device.memory_stats()
                if stats:
                    yield _number(device), device, stats

    def facts(self):
        facts = {"versions": {"jax": str(self._jax.__version__)}}
        for client in self._clients():
            for device in client.local_devices():
                facts["device"] = str(device.device_kind)
                return facts
        return facts

    def sample(self, row):
        for number, _, stats in self._devices():
            live = stats.get("bytes_in_use")
            pool = stats.get("pool_bytes")
            idle = max(0, pool - live) if pool and live is not None else None
            allocs = stats.get("num_allocs")
            add(row, number, pool_live_bytes=live, pool_idle_bytes=idle, allocs=allocs)
        if self._pipelines:
            row["pipelines"] = row.get("pipelines", 0) + self._pipelines
        self._count(row)

    def _count(self, row):
        now = own.monotonic()
        if not self._budget.ready(now):
            return
        begun = own.perf_counter()
        count = sum(len(client.live_arrays()) for client in self._clients())
        self._budget.spent(now, own.perf_counter() - begun)
        row["live_count"] = row.get("live_count", 0) + count

    def live_bytes(self):
        return total(stats.get("bytes_in_use") for _, _, stats in self._devices())

    def limits(self):
        told = [stats for _, _, stats in self._devices() if stats.get("bytes_limit")]
        most = max(told, key=lambda stats: stats.get("bytes_in_use") or 0, default=None)
        if most is None:
            return {}
        return {"limit_bytes": most["bytes_limit"], "live_bytes": most.get("bytes_in_use") or 0}

    def composition(self):
        """Of the device that holds most: its parts of live arrays, and what only XLA
        holds: compiled programs, their constants and temporaries, rounding. What an
        array is for, JAX does not tell."""
        live = {}
        for number, device, stats in self._devices():
            live[number] = (stats.get("bytes_in_use") or 0, device)
        number = max(live, key=lambda n: live[n][0], default=None)
        if number is None:
            return None
        size, device = live[number]
        parts = (_part(a, device) for c in self._clients() for a in c.live_arrays())
        return arrays.composition(number, size, {arrays.ARRAYS: sum(parts)})

    def purge(self):
        """Drops compiled programs. JAX cannot be asked for its pool's bytes;
        what clearing frees in the pool is claimed when JAX tells."""
        before = self.live_bytes()
        self._jax.clear_caches()
        after = self.live_bytes()
        return None if before is None or after is None else max(0, before - after)

    def sync(self):
        for client in self._clients():
            for device in client.local_devices():
                barrier = getattr(device, "synchronize_all_activity", None)
                if barrier is not None:
                    barrier()

    def sites(self):
        if not self._clients() or "jax.profiler" not in sys.modules:
            return None
        from gpumem_agent import sites

        return sites.from_pprof(self._jax.profiler.device_memory_profile())

    def listed(self):
        """Live arrays: of the devices, or of the host when there are none."""
        bridge = sys.modules.get("jax._src.xla_bridge")
        clients = self._clients() or list(getattr(bridge, "_backends", {}).values())
        return {id(a): weakref.ref(a) for c in clients for a in c.live_arrays()}

    def types(self):
        array = sys.modules.get("jax._src.array")
        return (array.ArrayImpl,) if hasattr(array, "ArrayImpl") else ()

    def describe(self, array):
        try:
            if array.is_deleted():
                return None
            group = "%s %s" % (array.shape, array.dtype)
            return id(array), int(array.nbytes), group
        except Exception:
            return None


def _part(array, device):
    """Bytes that an array has on a device."""
    try:
        if array.is_deleted() or device not in array.devices():
            return 0
        shape = array.sharding.shard_shape(array.shape)
        return math.prod(shape) * array.dtype.itemsize
    except Exception:
        return 0  # of a kind that tells no shape, such as a key


def _number(device):
    number = getattr(device, "local_hardware_id", None)
    return device.id if number is None else number
