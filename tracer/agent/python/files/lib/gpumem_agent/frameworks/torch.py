"""PyTorch: cuda (also ROCm), xpu and mps."""

import functools
import operator
import sys

from gpumem_agent import atomic
from gpumem_agent.frameworks import Framework, total
from gpumem_agent.frameworks.torch_backends import ALL_DEVICES_EVERY, Mps, Stats
from gpumem_agent.frameworks.torch_graphs import Graph, kept_by_graphs, operations, word
from gpumem_agent.frameworks.torch_jit import Makers
from gpumem_agent.frameworks.torch_names import GRADIENT_GRAPHS, HOOKS
from gpumem_agent.frameworks.torch_steps import StepHook

HOOKS_OF = operator.attrgetter(HOOKS)


def open_framework(module, process):
    return Torch(module, process)


class Torch(Framework):
    name = "torch"

    def __init__(self, torch, process):
        self._torch = torch
        self._process = process
        self._late = getattr(process, "late", None)  # late.Late
        self._backends = [
            b
            for b in (Stats.of(torch, "cuda"), Stats.of(torch, "xpu"), Mps.of(torch))
            if b is not None
        ]
        self._curious = [b for b in self._backends if b.wants_optimizers]
        self._awake = []  # of the backends, those that were active when last asked
        self._asked = 0
        self._sites_armed = False
        # Before 2.0 a tensor that is claimed is never freed (pull request 90823).
        major = str(getattr(torch, "__version__", "")).partition(".")[0]
        self._claims = major.isdigit() and int(major) >= 2
        self._hook = None
        self._oom = None
        self._makers = Makers(getattr(torch, "_C", None))

    def disarm(self):
        stays = []
        if not self._makers.disarm():
            stays.append("wrapped functions of TorchScript, which only pass on their calls")
        if self._hook is not None and not self._hook.disarm():
            stays.append("a hook of PyTorch's optimizers that does nothing")
        if self._oom is not None and self._oom.stays:
            stays.append("an observer of PyTorch's out-of-memory errors that does nothing")
        if self._sites_armed:
            self._sites_armed = False
            self._torch.cuda.memory._record_memory_history(None)
        return stays

    def arm(self):
        self._makers.arm(self._process)
        # torch.optim hides its submodule of this name.
        optimizer = sys.modules.get("torch.optim.optimizer")
        if hasattr(optimizer, "register_optimizer_step_post_hook"):
            self._hook = self._step_hook(optimizer)
            self._hook.arm(self._process.late is not None)
        cuda = getattr(self._torch, "cuda", None)
        lazy_call = getattr(cuda, "_lazy_call", None)
        if lazy_call is not None:  # at the program's own first use
            if self._process.late is None:  # else see active
                lazy_call(self._arm_oom)
            if self._process.sites_wanted:
                lazy_call(self._arm_sites)

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
            if self._sites_armed or self._process.exiting:
                return
            self._sites_armed = True
            memory = self._torch.cuda.memory
            memory._record_memory_history("state", context="state", stacks="python")

    def _arm_oom(self):
        with self._process.quiet():
            if self._oom is None:
                from gpumem_agent.frameworks.torch_oom import OutOfMemory

                self._oom = OutOfMemory(self, self._process)
                self._oom.attach()

    @property
    def torch(self):
        """The module."""
        return self._torch

    composes, keeps_graphs, describes_host = True, True, True

    def composition(self):
        if not self._backends or self._backends[0].name != "cuda":
            return None
        from gpumem_agent.frameworks.torch_blocks import composition

        return composition(self)

    def recorder(self, optimizers=()):
        from gpumem_agent.frameworks.torch_window import Recorder

        if not self._backends or self._backends[0].name != "cuda" or self.has_history() is not False:
            return None
        return Recorder(self, optimizers)

    def has_history(self):
        """Whether the allocator records events now, None when it does not tell."""
        told = getattr(self._torch._C, "_cuda_isHistoryEnabled", None)
        if told is None or not any(b.name == "cuda" for b in self._awake):
            return None  # before a device lives it reads what is not there
        try:
            return bool(told())
        except RuntimeError:
            return None  # of an allocator that has none: cudaMallocAsync

    def whole_snapshot(self):
        """The allocator's segments and its events."""
        try:
            return self._snapshot(None)
        except TypeError:
            return self._snapshot()

    def rearm(self):
        """Turns the record of live blocks on again, where the user asked for it."""
        if self._sites_armed:
            self._sites_armed = False
            self._arm_sites()

    def segments(self):
        """The allocator's segments, as _snapshot has them, or None where they
        cannot be had cheaply: a history that the program records would come with
        them, of a million events."""
        if not atomic.POSSIBLE:
            return None
        try:
            return self._snapshot((0, 0, False))["segments"]  # without events
        except (TypeError, ValueError, RuntimeError, KeyError):
            pass  # of a version that does not know how to leave them out
        if self.has_history() is not False:
            return None
        return self.whole_snapshot()["segments"]

    def blocks(self, most):
        cuda = next((b for b in self._awake if b.name == "cuda"), None)
        if cuda is None or cuda.live_count() > most:
            return None
        from gpumem_agent.frameworks.torch_blocks import handed_out, pools

        segments = self.segments()
        return (handed_out(segments), pools(segments)) if segments is not None else None

    def forked(self):
        self._awake = []
        self._makers.forked()
        for backend in self._backends:
            backend.forked()

    def active(self):
        # What is awake stays so, and a second kind of device is rare.
        self._asked += 1
        if not self._awake or self._asked % ALL_DEVICES_EVERY == 0:
            self._awake = self._active()
            if self._late is not None:
                self._arm_oom_late()
        return bool(self._awake)

    def _arm_oom_late(self):
        """Once the device lives: PyTorch's queue of calls for that moment keeps what is
        in it."""
        if not self._late.only_looks and any(b.name == "cuda" for b in self._awake):
            self._arm_oom()

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

    def nested(self):
        module = getattr(getattr(self._torch, "nn", None), "Module", None)
        return (module,) if isinstance(module, type) else ()

    def hidden(self):
        # isResurrectable in torch/csrc/autograd/python_variable.cpp: autograd holds every
        # weight between forward and backward.
        kinds = self._torch.Tensor, getattr(getattr(self._torch, "nn", None), "Parameter", None)
        known = hasattr(self._torch.Tensor, HOOKS)
        return tuple(k for k in kinds if known and k is not None), HOOKS_OF

    def alive(self, reference):
        """A tensor that Python has let go of lives on while C++ holds it, which frees it
        under whoever found it by a weak reference, unless that one says so."""
        tensor = reference()
        claim = getattr(type(tensor), "_fix_weakref", None) if self._claims else None
        if claim is not None:
            claim(tensor)
        return tensor

    def describe(self, tensor, on_host=False):
        """On the host: one that is there although a device is alive."""
        torch = self._torch
        plain = getattr(torch._C, "DisableTorchFunctionSubclass", None)
        try:
            if plain is None:
                return self._describe(tensor, on_host)
            with plain():
                return self._describe(tensor, on_host)
        except Exception:
            return None  # no storage: meta, fake or functional tensors

    def _describe(self, tensor, on_host):
        device = tensor.device
        if device.type == "meta" or (device.type == "cpu" and self.active()) != on_host:
            return None
        storage = getattr(tensor, "untyped_storage", None) or tensor.storage
        storage = storage()
        size = storage.nbytes()
        # What is traced has a symbol in place of a number: to ask whether that is 0 would
        # tell the program's compiler so.
        if type(size) is not int or not size:
            return None
        place = getattr(storage, "device", device)  # a fake tensor's is meta
        if place.type == "meta":
            return None
        group = "%s %s %s" % (tuple(tensor.shape), tensor.dtype, device)
        shown = tensor.numel() * tensor.element_size()
        # Not data_ptr: to ask for it copies a storage that is yet to be copied.
        key = getattr(storage, "_cdata", None) or storage.data_ptr()
        return key, size, group, shown if type(shown) is int else size

    def kept_natively(self, tensors):
        """Gradients hang on their tensors in C++. One that backward made with create_graph
        has a graph, which leads back to its tensor: nobody else need refer to either."""
        kept = {}
        for tensor in tensors:
            try:
                if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
                    gradient = tensor.grad
                    if gradient.grad_fn is None:
                        kept[id(gradient)] = "gradient of a %s" % type(tensor).__name__
                    else:
                        kept[id(gradient)] = kept[id(tensor)] = GRADIENT_GRAPHS
            except Exception:
                continue  # a tensor of the program's own kind that refuses
        return kept

    def operations(self, tensor, most, deadline):
        node = self._behind(tensor)
        return None if node is None else (*operations(node, most, deadline), word(node))

    def graph(self, tensor):
        node = self._behind(tensor)
        return Graph(node) if hasattr(node, "_sequence_nr") else None

    def _behind(self, tensor):
        """The last operation behind a tensor, or None. Of a view that behind what it shows a part of:
        to ask for its own may make one."""
        # Modes and subclasses of the program's would hear of each question.
        alone = getattr(self._torch._C, "DisableTorchFunction", None)
        if alone is None:
            return None
        try:
            with alone():
                return (tensor._base if tensor._is_view() else tensor).grad_fn
        except Exception:
            return None  # a tensor of the program's own kind that refuses

    def has_graph(self, tensor):
        # Not grad_fn: another thread may put a new one in its place. Of a view to ask for it
        # may make one: what it is a view of says as much.
        alone = getattr(self._torch._C, "DisableTorchFunction", None)
        if alone is None:
            return False
        try:
            with alone():
                whole = tensor._base if tensor._is_view() else tensor
                return tensor.requires_grad and whole.requires_grad and not whole.is_leaf
        except Exception:
            return False  # a tensor of the program's own kind that refuses

    def is_output(self, tensor):
        return getattr(tensor, "grad_fn", None) is not None

    def graphs(self, outputs, visible, deadline):
        outputs = [o for o in outputs if self.is_output(o)]
        return kept_by_graphs(self, outputs, visible, deadline)
