"""Records a few steps with PyTorch's own history of allocations, and tells them so
that a tracer can replay them: the blocks that live at the end with what they are,
each allocation and free of the window with its stack, and which module's forward pass
ran when (see torch_modules).

Numbers are packed: addresses in units of 512 bytes above the lowest one, stacks and
frames as positions in lists."""

import time
import weakref

from gpumem_agent.connection import encode
from gpumem_agent.frameworks import torch_blocks, torch_modules
from gpumem_agent.own import own

EVENTS = 120000  # of the window; more are not told
UNIT = 512  # bytes; PyTorch's blocks are multiples of it
ROOM = 48 << 10  # bytes of one part, about
DEPTH = 32  # frames of a stack
FRAMES = 4000
SECONDS = 0.1  # for the search of roles, before and after
STEP_SECONDS = 0.005  # for the addresses of gradients, at the end of a step
ROLES = torch_blocks.ORDER + (torch_blocks.UNSEEN, torch_blocks.WAITING)
STILL = 1 << 30  # in the place of a step: at the window's end
NAME = "_cuda_record_memory_history"  # in torch._C: what turns a history on and off


class Recorder:
    """One window. begin, step and end run on the program's thread, parts does not."""

    name = "torch"

    def __init__(self, framework, optimizers=()):
        self._framework = framework
        self._optimizers = list(optimizers)  # whose steps the agent sees
        self._before = None  # roles
        self._boundaries = []  # time of day at the end of each step
        self._parameters = []  # weak references to those of the optimizers
        self._gradients = []  # at each end of a step: {address: one of these}
        self._calls = None
        self.seconds = 0.0  # spent at the ends of steps
        self._snapshot_seconds = 0.0
        self._taken = False  # the program turned a history on meanwhile
        self._original = None
        self._snapshot = self._after = self._stats = None
        self.facts = {}

    def begin(self):
        # To scan for tensors here, too, would take the time of the one at the end again.
        self._before = self._roles(self._optimizers or None)
        self._note_parameters()
        torch = self._framework.torch
        torch.cuda.memory._record_memory_history(
            "all", context="alloc", stacks="python", max_entries=EVENTS
        )
        self._original = getattr(torch._C, NAME, None)
        if self._original is not None:
            setattr(torch._C, NAME, self._watched)
        self._calls = torch_modules.Calls(torch)
        try:
            self._calls.begin()
        except Exception:  # of a version that has other hooks: no module is told
            self._calls.end()

    def _watched(self, *args, **keywords):
        """In the place of PyTorch's function while the window is open."""
        self._taken = True
        return self._original(*args, **keywords)

    def step(self):
        self._boundaries.append(time.time_ns() // 1000)
        self._gradients.append({})
        begun = own.perf_counter()
        try:
            with torch_blocks.plainly(self._framework.torch):
                self._note_gradients(self._gradients[-1], own.monotonic() + STEP_SECONDS)
        except Exception:
            return  # a tensor of the program's own kind that refuses: no module is told
        finally:
            self.seconds += own.perf_counter() - begun

    def _note_parameters(self):
        for optimizer in self._optimizers:
            for group in list(optimizer.param_groups):
                self._parameters += [weakref.ref(p) for p in group["params"]]
        if self._before.paths is not None:
            self._parameters = self._before.paths.references()
        self._optimizers = []

    def _note_gradients(self, found, deadline):
        torch = self._framework.torch
        for n, reference in enumerate(self._parameters):
            if n % torch_blocks.LOOKS == 0 and own.monotonic() > deadline:
                return
            tensor = self._framework.alive(reference)
            if tensor is None or not tensor.is_leaf or tensor.grad is None:
                continue
            address, size = torch_blocks.storage(torch, tensor.grad)
            if size:
                found[address] = reference

    def end(self):
        torch = self._framework.torch
        if self._calls is not None:
            self._calls.end()
        if self._original is not None:
            setattr(torch._C, NAME, self._original)
        if self._taken:
            return  # the history is the program's now
        try:
            self._stats = torch.cuda.memory_stats_as_nested_dict(torch.cuda.current_device())
            begun = own.perf_counter()
            self._snapshot = self._framework.whole_snapshot()
            self._snapshot_seconds = own.perf_counter() - begun
            self._after = self._roles()
        finally:
            torch.cuda.memory._record_memory_history(None)
            self._framework.rearm()

    def _roles(self, optimizers=None):
        deadline = own.monotonic() + SECONDS
        return torch_blocks.Roles(self._framework, deadline, optimizers)

    def parts(self):
        """The details of the marks that tell the window."""
        if self._snapshot is None:
            return []
        traces = self._snapshot["device_traces"]
        if not traces:
            return []
        device = max(range(len(traces)), key=lambda d: len(traces[d]))
        packed = _Packed(self._snapshot, device, self._before, self._after)
        packed.gradients(self._gradients)
        head = dict(self.facts, device=device, base=packed.base, roles=list(ROLES))
        head["boundaries"] = [max(0, b - packed.origin) for b in self._boundaries]
        allocated = self._stats["allocated_bytes"]["all"]
        head["scan_us"] = int((self._before.seconds + self._after.seconds) * 1e6)
        head["snapshot_us"] = int(self._snapshot_seconds * 1e6)
        head["allocated_bytes"] = allocated["current"]
        if "peak" in allocated:
            head["allocator_peak_bytes"] = allocated["peak"]
        if len(traces[device]) >= EVENTS:
            head["overflowed"] = True  # it begins late
            return [head]
        begun = own.perf_counter()
        lists = {"frames": packed.frames, "stacks": packed.stacks, "live": packed.live}
        lists.update(segments=packed.segments, events=packed.events)
        lists.update(modules=packed.names, owners=packed.owners)
        lists["calls"] = self._calls.told(self._after.paths, packed.origin)
        if self._calls.off:
            head["calls_off"] = self._calls.off
        parts = [head]
        if packed.origin:
            head["age_us"] = max(0, time.time_ns() // 1000 - packed.origin)
        for name, items in lists.items():
            parts += [{name: chunk} for chunk in _chunks(items)]
        head["pack_us"] = int((own.perf_counter() - begun + packed.seconds) * 1e6)
        self._snapshot = None
        return parts


class _Packed:
    """A snapshot in numbers."""

    def __init__(self, snapshot, device, before, after):
        begun = own.perf_counter()
        self.frames, self.stacks = [], []
        self._frame_at, self._stack_at, self._by_id = {}, {}, {}
        self.names = after.paths.names  # of modules, by number
        self._of_reference = after.paths.of_reference
        self.owners = []  # address, module, which end of a step; -1 is the window's beginning
        layout = torch_blocks.Layout(snapshot["segments"], device, after)
        trace = snapshot["device_traces"][device]
        addresses = [s["address"] for s in snapshot["segments"] if "address" in s]
        addresses += [e["addr"] for e in trace if "addr" in e]
        self.base = min(addresses, default=0)
        self.origin = trace[0].get("time_us", 0) if trace else 0
        self.live = []  # address, bytes, role: one list a block
        for address, size, role, owner in layout.blocks:
            self.live.append([self._unit(address), size, ROLES.index(role)])
            if owner is not None:
                self.owners.append([self._unit(address), owner, STILL])
        self.events = []
        self._roles = {self._unit(a): ROLES.index(r) for a, r in before.by_address.items()}
        self._owners = {self._unit(a): o for a, o in before.owners.items()}
        # What was there before and is nobody's the program let go of, mostly.
        self._otherwise = -1 if before.paths is not None else ROLES.index(torch_blocks.TENSORS)
        self.segments = [
            [self._unit(s["address"]), s["total_size"], int(_splits_all(s))]
            for s in snapshot["segments"]
            if s.get("device", 0) == device and "total_size" in s
        ]
        for event in trace:
            self._event(event)
        self.seconds = own.perf_counter() - begun

    def _unit(self, address):
        return (address - self.base) // UNIT

    def _event(self, event):
        """An allocation: address, bytes, time, stack; a free: address, -bytes, time,
        the role that the block had before the window, -1 without one."""
        action = event["action"]
        if action not in ("alloc", "free_requested", "free"):
            return
        at, when = self._unit(event["addr"]), event.get("time_us", 0) - self.origin
        if action == "alloc":
            self.events.append([at, event["size"], when, self._stack(event.get("frames") or ())])
            self._roles.pop(at, None)
            self._owners.pop(at, None)
        else:
            self.events.append([at, -event["size"], when, self._roles.pop(at, self._otherwise)])
            owner = self._of_reference(self._owners.pop(at, None))
            if owner is not None:
                self.owners.append([at, owner, -1])

    def gradients(self, steps):
        """Adds the modules of the gradients that lived at the end of each step."""
        for step, found in enumerate(steps):
            for address, reference in found.items():
                owner = self._of_reference(reference)
                if owner is not None:
                    self.owners.append([self._unit(address), owner, step])

    def _stack(self, frames):
        known = self._by_id.get(id(frames))  # PyTorch shares the lists of equal stacks
        if known is None:
            positions = [self._frame(f) for f in frames[:DEPTH]]
            key = tuple(p for p in positions if p >= 0)
            known = self._stack_at.get(key)
            if known is None:
                known = self._stack_at[key] = len(self.stacks)
                self.stacks.append(list(key))
            self._by_id[id(frames)] = known
        return known

    def _frame(self, frame):
        text = "%s:%d %s" % (frame["filename"], frame["line"], frame["name"])
        position = self._frame_at.get(text)
        if position is None:
            if len(self.frames) >= FRAMES:
                return -1
            position = self._frame_at[text] = len(self.frames)
            self.frames.append(text[-300:])
        return position


def _splits_all(segment):
    """Whether what is left of a block is split off however small it is."""
    return segment.get("segment_type") == "small" or bool(segment.get("is_expandable"))


def _chunks(items):
    """The items in lists that are short enough for one mark."""
    chunk, room = [], ROOM
    for item in items:
        size = len(encode(item)) + 1
        if chunk and size > room:
            yield chunk
            chunk, room = [], ROOM
        chunk.append(item)
        room -= size
    if chunk:
        yield chunk
