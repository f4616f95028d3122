"""What the blocks of PyTorch's allocator are: parameters, gradients, optimizer state …

A block belongs to the tensors whose storage lies in it. What no tensor of Python's
shows is kept by autograd for the backward pass, or by C++ alone. The categories sum
to the allocator's own account, because each block is counted once."""

import bisect
import contextlib
import weakref

from gpumem_agent.frameworks import torch_makers, torch_modules
from gpumem_agent.holders.living import references
from gpumem_agent.own import own

PARAMETERS, GRADIENTS, OPTIMIZER = "parameters", "gradients", "optimizer state"
BUFFERS, TENSORS, UNSEEN = "buffers", "other tensors of Python", "held by autograd or C++"
ACTIVATIONS = "activations"  # an operation made them while gradients were recorded
WAITING = "freed, a stream still at work"
ORDER = (PARAMETERS, GRADIENTS, OPTIMIZER, BUFFERS, ACTIVATIONS, TENSORS)  # the first that fits counts
LARGE, SMALL = 20 << 20, 2 << 20  # pages of expandable segments, by pool
MOST_POOLS = 128  # told: PyTorch has 32 streams of a priority, with two pools each
LOOKS = 64  # tensors between two looks at the clock
DEVICES = ("cuda",)  # kinds of devices with such an allocator


class Roles:
    """What the storages of the tensors that live now are.

    With known optimizers only what belongs to their parameters is noted. Without,
    the interpreter's objects are scanned, in which the program stands still: that
    takes tens of milliseconds, and hundreds where a compiler left millions."""

    def __init__(self, framework, deadline, optimizers=None):
        self._torch = framework.torch
        self._alive = framework.alive
        self._deadline = deadline
        self._left = LOOKS
        self.complete = True
        self.by_address = {}  # role by the address of a storage
        self.owners = {}  # by the same, a weak reference to the parameter or buffer
        self.outputs = {}  # by the same, weak references to activations
        self.shown = {}  # by the same, to what is of no other role than a tensor of Python's
        self.sizes = {}  # by the same, bytes of activations and such tensors
        self.made = {}  # by the same, the number in paths of the module that made one
        self.paths = None  # torch_modules.Paths
        self.graph = None  # torch_makers.Graph, behind the activations
        self.seconds = 0.0  # that the scan took
        self.facts = {}  # numbers about the model, for the reasons of an out-of-memory
        self._stepped = {}  # by the id of an optimizer's parameter, whether it has state
        with plainly(self._torch):
            if optimizers is None:
                self._find()
            else:
                self._find_of(optimizers)

    def _find_of(self, optimizers):
        for optimizer in optimizers:
            self._optimizer(optimizer)
            for group in list(optimizer.param_groups):
                for parameter in list(group["params"]):
                    if self._is_late():
                        return
                    if parameter.is_leaf and parameter.grad is not None:
                        self._note(parameter.grad, GRADIENTS, parameter)

    def _find(self):
        optim, nn = self._torch.optim, getattr(self._torch, "nn", None)
        kinds = (self._torch.Tensor, getattr(nn, "Module", None), getattr(optim, "Optimizer", None))
        begun = own.perf_counter()
        tensors, modules, steppers = _objects(self._alive, *kinds)
        self.seconds = own.perf_counter() - begun
        self.paths = torch_modules.Paths(modules, self._deadline)
        self.facts["optimizers"] = len(steppers)
        for optimizer in steppers:
            self._optimizer(optimizer)
        parameter = getattr(nn, "Parameter", ())
        for module in modules:
            for tensor in list(vars(module).get("_buffers", {}).values()):
                self._note(tensor, BUFFERS, tensor)
        owners = (m for m in modules if any(p is not None for p in _parameters(m)))  # a loss stays in it
        self.facts["training"] = any(vars(m).get("training") is True for m in owners)
        for reference in tensors:
            if self._is_late():
                break
            tensor = self._alive(reference)
            try:
                if tensor is not None:
                    self._tensor(tensor, parameter)
            except Exception:
                pass  # a tensor of the program's own kind that refuses
            del tensor  # what the program lets go of is to be free at once
        dtypes = self.facts.pop("dtypes", {})
        if dtypes:
            self.facts["parameter_dtypes"] = dtypes

    def _optimizer(self, optimizer):
        """Its parameters, and its state so far: at the first step there is state
        for some of them only. A parameter counts once, also where another optimizer
        has it, such as a wrapper of the first (Lightning's)."""
        state = vars(optimizer).get("state") or {}
        total = with_state = held = 0
        for group in list(optimizer.param_groups):
            for parameter in list(group["params"]):
                size = self._note(parameter, PARAMETERS, parameter)
                known = self._stepped.get(id(parameter))
                if known is None:
                    total += size
                own_state = state.get(parameter) or {}
                found = [self._note(t, OPTIMIZER, parameter) for t in _tensors(own_state)]
                if found and not known:
                    with_state += size
                    held += sum(found)
                self._stepped[id(parameter)] = known or bool(found)
        name = type(optimizer).__name__
        told = self.facts.setdefault("optimizer", {"name": name})
        for key, value in (("parameter_bytes", total), ("with_state_bytes", with_state)):
            told[key] = told.get(key, 0) + value
        told["state_bytes"] = told.get("state_bytes", 0) + held

    def _tensor(self, tensor, parameter):
        role = TENSORS
        if isinstance(tensor, parameter):
            role = PARAMETERS
        elif tensor.requires_grad and not tensor.is_leaf:
            role = ACTIVATIONS  # Python's name for it may be gone: autograd keeps the object
        size = self._note(tensor, role, tensor if role == PARAMETERS else None)
        if role in (ACTIVATIONS, TENSORS) and size:
            address = storage(self._torch, tensor)[0]
            known = self.outputs if role == ACTIVATIONS else self.shown
            known.setdefault(address, weakref.ref(tensor))
            self.sizes[address] = size
        if role == PARAMETERS and size:
            dtypes = self.facts.setdefault("dtypes", {})
            name = str(tensor.dtype)
            dtypes[name] = dtypes.get(name, 0) + size
        if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
            self._note(tensor.grad, GRADIENTS, tensor)

    def _note(self, tensor, role, owner=None):
        """Keeps the role of a tensor's storage, and the parameter it belongs to.
        Returns the storage's bytes on a device, 0 where there are none."""
        address, size = storage(self._torch, tensor)
        if address is None:
            return 0
        known = self.by_address.get(address)
        if known is None or ORDER.index(role) < ORDER.index(known):
            self.by_address[address] = role
            self.owners.pop(address, None)
            known = role
        if owner is not None and role == known:
            self.owners.setdefault(address, weakref.ref(owner))
        return size

    def module(self, address):
        """The number in paths of the module that owns what lies there, or None."""
        number = self.paths.of_reference(self.owners.get(address))
        return self.made.get(address) if number is None else number

    def of_role(self, references, role):
        """Those of outputs or shown that are of a role in the end."""
        return {a: r for a, r in references.items() if self.by_address.get(a) == role}

    def find_makers(self, running, deadline):
        """Finds which modules made the activations. running is the module whose forward
        pass runs, or None."""
        outputs = {}
        for address, reference in self.of_role(self.outputs, ACTIVATIONS).items():
            tensor = self._alive(reference)
            if tensor is not None:
                outputs[address] = tensor
        number = None if running is None else self.paths.of_module(running)
        if number == torch_modules.UNKNOWN:
            number = None
        with plainly(self._torch):
            self.graph = torch_makers.Graph(outputs, self.paths, number, deadline)
            self.made = self.graph.modules()
        return number

    def _is_late(self):
        self._left -= 1
        if self._left <= 0:
            self._left = LOOKS
            if own.monotonic() > self._deadline:
                self.complete = False
        return not self.complete


def plainly(torch):
    """A context in which no code of a tensor's own kind is asked."""
    plain = getattr(torch._C, "DisableTorchFunctionSubclass", None)
    return contextlib.nullcontext() if plain is None else plain()


def _objects(alive, tensor, *kinds):
    """Weak references to the tensors that live, and of each other type the objects of it
    and its subclasses. One scan of the interpreter's objects finds them all: it takes
    some tens of milliseconds."""
    known = [k for k in kinds if isinstance(k, type)]
    tensors, found = [], [[] for _ in kinds]
    for reference in list(references(tuple([tensor] + known)).values()):
        item = alive(reference)
        if item is None:
            continue
        if issubclass(type(item), tensor):
            tensors.append(reference)
        else:
            for kind, items in zip(kinds, found):
                if kind in known and issubclass(type(item), kind):
                    items.append(item)
                    break
        del item
    return [tensors] + found


def _parameters(module):
    return list((vars(module).get("_parameters") or {}).values())


def _tensors(state):
    values = state.values() if isinstance(state, dict) else ()
    return [v for v in list(values) if hasattr(v, "data_ptr")]


def storage(torch, tensor):
    """(address, bytes) of a tensor's storage on a device with an allocator, or
    (None, 0). To ask a storage that is yet to be copied for its address copies it."""
    try:
        if tensor is None or tensor.device.type not in DEVICES:
            return None, 0
        if getattr(torch._C, "_is_cow_tensor", _never)(tensor):
            return None, 0
        kept = (getattr(tensor, "untyped_storage", None) or tensor.storage)()
        size = kept.nbytes()
        if type(size) is not int:  # a symbol, of what is traced
            return None, 0
        return (kept.data_ptr(), size) if size else (None, 0)
    except Exception:
        return None, 0  # meta, fake and functional tensors, and wrappers of others


def _never(tensor):
    return False


class Pools:
    """The pools that the segments of one device belong to: live and idle bytes."""

    def __init__(self, segments, device):
        self.pools = {}
        for segment in sorted(segments, key=lambda s: s.get("address", 0)):
            if segment.get("device", 0) == device:
                self._segment(segment)
        for pool in self.pools.values():
            pool.end()

    def _segment(self, segment):
        private = tuple(segment.get("segment_pool_id") or (0, 0)) != (0, 0)
        kind = segment.get("segment_type", "large")
        key = (kind, segment.get("stream", 0), private)
        pool = self.pools.get(key)
        if pool is None:
            pool = self.pools[key] = _Pool(*key)
        pool.segments += 1
        pool.expandable = pool.expandable or bool(segment.get("is_expandable"))
        address, before = segment.get("address", 0), pool.idle_bytes
        lives = False
        for block in segment.get("blocks", ()):
            size, state = block["size"], block["state"]
            here = block.get("address", address)
            address = here + size
            if state == "inactive":
                pool.idle(size)
                continue
            lives = True
            self._lives(here, size, state)
            pool.live(size)
        if not lives:
            pool.whole += pool.idle_bytes - before

    def _lives(self, address, size, state):
        """Takes in a block that the program has, or waits for."""

    def told(self):
        """The pools as an event has them, those with most idle bytes first."""
        pools = sorted(self.pools.values(), key=lambda p: -p.idle_bytes)
        return [pool.told() for pool in pools[:MOST_POOLS]]


class Layout(Pools):
    """The segments of one device: live bytes by category, idle bytes by pool."""

    def __init__(self, segments, device, roles):
        self._addresses = sorted(roles.by_address)
        self._roles = roles.by_address
        self._module = roles.module
        self.categories = {}
        self.owned = {}  # bytes by (module or None, category)
        self.blocks = []  # (address, size, category, module or None) of those that live
        super().__init__(segments, device)

    def _lives(self, address, size, state):
        category, owner = WAITING, None
        if state == "active_allocated":
            category, owner = self._category(address, size)
        self.categories[category] = self.categories.get(category, 0) + size
        self.owned[owner, category] = self.owned.get((owner, category), 0) + size
        self.blocks.append((address, size, category, owner))

    def _category(self, address, size):
        i = bisect.bisect_left(self._addresses, address)
        best = owner = None
        while i < len(self._addresses) and self._addresses[i] < address + size:
            role = self._roles[self._addresses[i]]
            if best is None or ORDER.index(role) < ORDER.index(best):
                best, owner = role, self._module(self._addresses[i])
            i += 1
        return best or UNSEEN, owner


class _Pool:
    """Segments of one size class, stream and kind.

    page_bytes is what expandable segments could have given back: whole pages
    without a live block, were the pool's blocks to lie one after the other, as
    they do in one expandable segment. It is a simulation: the blocks might have
    come to lie otherwise."""

    def __init__(self, kind, stream, private):
        self.kind, self.stream, self.private = kind, stream, private
        self.segments = self.live_bytes = self.idle_bytes = self.idle_count = 0
        self.largest = self.page_bytes = 0
        self.whole = 0  # idle bytes of segments without a live block
        self.expandable = False
        self._at = self._run = 0

    def idle(self, size):
        self.idle_bytes += size
        self.idle_count += 1
        self.largest = max(self.largest, size)
        self._at += size
        self._run += size

    def live(self, size):
        self._close()
        self.live_bytes += size
        self._at += size

    def _close(self):
        page = SMALL if self.kind == "small" else LARGE
        first = -(-(self._at - self._run) // page)
        self.page_bytes += max(0, self._at // page - first) * page
        self._run = 0

    def end(self):
        self._close()

    def told(self):
        told = {
            "kind": self.kind,
            "stream": self.stream,
            "segments": self.segments,
            "live_bytes": self.live_bytes,
            "idle_bytes": self.idle_bytes,
            "idle_count": self.idle_count,
            "largest_bytes": self.largest,
            "whole_bytes": self.whole,
            "page_bytes": self.page_bytes,
        }
        if self.private:
            told["private"] = True
        if self.expandable:
            told["expandable"] = True
        return told


def pools(segments):
    """What pools of each stream have, on the device with most segments' bytes: as an event has
    them, without what only a composition tells, those with most idle bytes first."""
    sums = {}
    for segment in segments:
        device = segment.get("device", 0)
        sums[device] = sums.get(device, 0) + segment.get("total_size", 0)
    streams = {}
    for pool in Pools(segments, max(sums, key=sums.get)).pools.values() if sums else ():
        empty = {"stream": pool.stream, "idle_bytes": 0, "live_bytes": 0}
        told = streams.setdefault((pool.stream, pool.private), empty)
        told["idle_bytes"] += pool.idle_bytes
        told["live_bytes"] += pool.live_bytes
        if pool.private:
            told["private"] = True
    return sorted(streams.values(), key=lambda told: -told["idle_bytes"])[:MOST_POOLS]


def handed_out(segments):
    """(identity, bytes) of each block that the program has, of all devices. Blocks have
    no names: one is known by where it lies and how large it is."""
    found = []
    for segment in segments:
        device, address = segment.get("device", 0), segment.get("address", 0)
        for block in segment.get("blocks", ()):
            size, here = block["size"], block.get("address", address)
            address = here + size
            if block["state"] == "active_allocated":
                asked = block.get("requested_size", size)
                found.append((hash((device, here, size, asked)), size))
    return found


COMPOSITION_SECONDS = 0.3  # for the search of roles at the end


def composition(framework):
    """Live memory of the device that holds most, as a mark has it."""
    segments = framework.segments()
    if not segments:
        return None
    roles = Roles(framework, own.monotonic() + COMPOSITION_SECONDS)
    devices = {segment.get("device", 0) for segment in segments}
    layouts = {d: Layout(segments, d, roles) for d in devices}
    device = max(layouts, key=lambda d: sum(layouts[d].categories.values()))
    told = {"device": device, "categories": layouts[device].categories}
    told["pools"] = layouts[device].told()
    modules = torch_modules.told(layouts[device].owned, roles.paths.names)
    if modules:
        told["modules"] = modules
    if not roles.complete:
        told["incomplete"] = True
    return told
