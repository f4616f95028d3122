"""PyTorch: cuda (also ROCm), xpu and mps."""

import functools
import sys

from gpumem_agent import atomic
from gpumem_agent.frameworks import Framework, add, add_columns, total
from gpumem_agent.frameworks.torch_graphs import Graph, kept_by_graphs
from gpumem_agent.frameworks.torch_steps import StepHook
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


def open_framework(module, process):
    return Torch(module, process)


class Torch(Framework):
    name = "torch"

    def __init__(self, torch, process):
        self._torch = torch
        self._process = process
        self._backends = [
            b
            for b in (_Stats.of(torch, "cuda"), _Stats.of(torch, "xpu"), _Mps.of(torch))
            if b is not None
        ]
        self._curious = [b for b in self._backends if b.wants_optimizers]
        self._awake = []  # of the backends, those that were active when last asked
        self._asked = 0
        self._sites_armed = False

    def arm(self):
        # torch.optim hides its submodule of this name.
        optimizer = sys.modules.get("torch.optim.optimizer")
        if hasattr(optimizer, "register_optimizer_step_post_hook"):
            self._step_hook(optimizer).arm()
        if self._process.sites_wanted:
            cuda = getattr(self._torch, "cuda", None)
            lazy_call = getattr(cuda, "_lazy_call", None)
            if lazy_call is not None:
                lazy_call(self._arm_sites)  # at the program's own first use

    def _step_hook(self, module):
        compiler = getattr(self._torch, "compiler", None)
        # Both are constants to the compiler; the first is the cheaper to call.
        names = ("is_dynamo_compiling", "is_compiling")
        compiling = next((getattr(compiler, n) for n in names if hasattr(compiler, n)), bool)
        at_step = self._at_step if self._curious else self._process.optimizer_step
        return StepHook(module, compiling, self._process, at_step)

    def _at_step(self, optimizer, is_counted):
        with self._process.quiet():
            for backend in self._curious:
                backend.note(optimizer)
        self._process.optimizer_step(optimizer, is_counted)

    def _arm_sites(self):
        """Starts PyTorch's own record of live blocks, with Python stacks. Only
        the present state is kept, no history: its memory is bounded."""
        with self._process.quiet():
            if self._sites_armed:
                return
            self._sites_armed = True
            memory = self._torch.cuda.memory
            memory._record_memory_history("state", context="state", stacks="python")

    def forked(self):
        self._awake = []
        for backend in self._backends:
            backend.forked()

    def active(self):
        # What is awake stays so, and a second kind of device is rare.
        self._asked += 1
        if not self._awake or self._asked % ALL_DEVICES_EVERY == 0:
            self._awake = self._active()
        return bool(self._awake)

    def _active(self):
        return [b for b in self._backends if b.active()]

    def facts(self):
        versions = {"torch": str(getattr(self._torch, "__version__", "unknown"))}
        cuda = getattr(getattr(self._torch, "version", None), "cuda", None)
        if cuda:
            versions["cuda"] = str(cuda)
        facts = {"versions": versions}
        for backend in self._active():
            facts.update(backend.facts())
            break
        return facts

    def sample(self, row):
        for backend in self._awake:
            backend.sample(row)
        counters = sys.modules.get("torch._dynamo.utils")
        counters = getattr(counters, "counters", None)
        if counters and "stats" in counters:
            graphs = counters["stats"].get("unique_graphs")
            if graphs:
                row["pipelines"] = row.get("pipelines", 0) + graphs

    def live_bytes(self):
        return total(b.live_bytes() for b in self._active())

    def purge(self):
        return total([b.purge() for b in self._active()])

    def sync(self):
        for backend in self._active():
            backend.sync()

    def sites(self):
        if not self._sites_armed or not (atomic.POSSIBLE or self._process.exiting):
            return None
        from gpumem_agent import sites

        try:
            snapshot = self._snapshot(None)
        except TypeError:  # of a version that knows no pools
            snapshot = self._snapshot()
        return sites.from_torch(snapshot)

    def _snapshot(self, *arguments):
        """PyTorch resolves frames with torch._inductor, which a mere look for the
        name imports: a big import, and a harmful one beside an import of the
        program's. So as long as the program has not imported it, the name is hidden
        for the one call, in the course of which no other thread runs."""
        torch, name, box = self._torch, "_inductor", []
        ask = functools.partial(torch._C._cuda_memorySnapshot, *arguments)
        steps = [atomic.fill(box, map(atomic.call, (ask,)))]
        if name not in vars(torch):
            hide = functools.partial(setattr, torch, name, None)
            steps = [hide, *steps, functools.partial(delattr, torch, name)]
        try:
            atomic.once(*steps)
        finally:
            if vars(torch).get(name, torch) is None:
                delattr(torch, name)
        return box[0]

    def kinds(self):
        return (self._torch.Tensor,)

    def describe(self, tensor):
        torch = self._torch
        plain = getattr(torch._C, "DisableTorchFunctionSubclass", None)
        try:
            if plain is None:
                return self._describe(tensor)
            with plain():
                return self._describe(tensor)
        except Exception:
            return None  # no storage: meta, fake or functional tensors

    def _describe(self, tensor):
        device = tensor.device
        if device.type == "meta" or (device.type == "cpu" and self.active()):
            return None
        storage = getattr(tensor, "untyped_storage", None) or tensor.storage
        storage = storage()
        size = storage.nbytes()
        place = getattr(storage, "device", device)  # a fake tensor's is meta
        if not size or place.type == "meta":
            return None
        group = "%s %s %s" % (tuple(tensor.shape), tensor.dtype, device)
        # Not data_ptr: to ask for it copies a storage that is yet to be copied.
        return getattr(storage, "_cdata", None) or storage.data_ptr(), size, group

    def kept_natively(self, tensors):
        """Gradients hang on their tensors in C++."""
        kept = {}
        for tensor in tensors:
            try:
                if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
                    kept[id(tensor.grad)] = "gradient of a %s" % type(tensor).__name__
            except Exception:
                continue  # a tensor of the program's own kind that refuses
        return kept

    def graph(self, tensor):
        # Modes and subclasses of the program's would hear of each question.
        alone = getattr(self._torch._C, "DisableTorchFunction", None)
        if alone is None:
            return None
        try:
            with alone():
                node = None if tensor._is_view() else tensor.grad_fn
                return Graph(node) if hasattr(node, "_sequence_nr") else None
        except Exception:
            return None  # a tensor of the program's own kind that refuses

    def graphs(self, outputs, visible, deadline):
        outputs = [o for o in outputs if getattr(o, "grad_fn", None) is not None]
        return kept_by_graphs(self, outputs, visible, deadline)


class _Stats:
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


class _Mps:
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
