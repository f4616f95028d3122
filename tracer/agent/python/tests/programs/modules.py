"""Records a window of real PyTorch on the processor, as if a caching allocator served
it: each storage that an operation makes is a block. Prints the parts of the window,
one a line, and last the composition at the end. With the argument error it prints what
it tells of an error in the middle of a forward pass instead."""

import json
import sys
import time
import types

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from gpumem_agent.frameworks import torch_blocks, torch_oom
from gpumem_agent.frameworks.torch import Torch
from gpumem_agent.frameworks.torch_window import Recorder

torch_blocks.DEVICES = ("cpu",)
UNIT = 512


class Mlp(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = torch.nn.Linear(width, 4 * width)
        self.c_proj = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(torch.relu(self.c_fc(x)))


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln = torch.nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        return x + self.mlp(self.ln(x))


class Gpt(torch.nn.Module):
    def __init__(self, width=64, layers=3):
        super().__init__()
        self.transformer = torch.nn.ModuleDict({"h": torch.nn.ModuleList(Block(width) for _ in range(layers))})
        self.head = torch.nn.Linear(width, 16)

    def forward(self, x):
        for block in self.transformer["h"]:
            x = block(x)
        return self.head(x)


class Blocks(TorchDispatchMode):
    """The allocator: each storage that an operation makes is a block until it dies."""

    def __init__(self):
        super().__init__()
        self.live, self.events, self.recording = {}, [], False
        self.total = self.peak = 0
        self.place = 1 << 40  # of the next block: no two share a unit

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        made = operation(*arguments, **(keywords or {}))
        self.look()
        for tensor in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(tensor, torch.Tensor):
                self.add(tensor)
        return made

    def add(self, tensor):
        kept = untyped(tensor)
        if kept.nbytes() == 0 or kept.data_ptr() in self.live:
            return
        size = -(-kept.nbytes() // UNIT) * UNIT
        self.live[kept.data_ptr()] = StorageWeakRef(kept), size, self.place
        self.total += size
        self.peak = max(self.peak, self.total)
        self.note("alloc", self.place, size, frames())
        self.place += size

    def look(self):
        for address, (reference, size, place) in list(self.live.items()):
            if reference.expired():
                del self.live[address]
                self.total -= size
                self.note("free_requested", place, size, [])

    def note(self, action, address, size, stack):
        if self.recording:
            event = {"action": action, "addr": address, "size": size, "frames": stack}
            self.events.append(dict(event, time_us=time.time_ns() // 1000))


def untyped(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._storage


def frames():
    """As PyTorch has them: of the backward pass, which runs on a thread of its own on
    a GPU, there are none."""
    found, frame = [], sys._getframe(3)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "backward":
            return []
        found.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    return found


class Framework:
    """What a Recorder asks for."""

    def __init__(self, blocks):
        self.torch, self._blocks = torch, blocks

    def alive(self, reference):
        return Torch(torch, None).alive(reference)

    def whole_snapshot(self):
        self._blocks.look()
        segments = [
            {
                "address": place,
                "total_size": size,
                "segment_type": "small",
                "blocks": [{"address": place, "size": size, "state": "active_allocated"}],
            }
            for _, size, place in self._blocks.live.values()
        ]
        return {"segments": segments, "device_traces": [self._blocks.events]}

    def segments(self):
        return self.whole_snapshot()["segments"]

    def rearm(self):
        pass


def hooks():
    kept = torch.nn.modules.module
    return len(kept._global_forward_hooks) + len(kept._global_forward_pre_hooks)


blocks = Blocks()


def record(enabled=None, **_):
    blocks.recording = enabled is not None


def stats(device=None):
    blocks.look()
    return {"allocated_bytes": {"all": {"current": blocks.total, "peak": blocks.peak}}}


real_storage = torch_blocks.storage


def storage(module, tensor):
    address, size = real_storage(module, tensor)
    known = blocks.live.get(address)
    return (known[2], size) if known is not None else (None, 0)


torch_blocks.storage = storage
torch.cuda.memory._record_memory_history = record
torch.cuda.memory_stats_as_nested_dict = stats
torch.cuda.current_device = int

with blocks:
    model = Gpt()
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(torch.ones(256, 64)).square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step()
    framework = Framework(blocks)
    if "error" in sys.argv:
        told = {}
        torch_oom.SECONDS = torch_oom.GRAPH_SECONDS = 60  # the machine may be slow

        def fail(module, arguments):
            torch_oom.OutOfMemory(framework, None)._add_blocks(told, 0)
            raise MemoryError

        where = model.head if "late" in sys.argv else model.transformer["h"][2].mlp.c_proj
        where.register_forward_pre_hook(fail)
        try:
            model(torch.ones(256, 64))
        except MemoryError:
            print(json.dumps(told))
        sys.exit()
    recorder = Recorder(framework, () if "scanned" in sys.argv else (optimizer,))
    if "compiled" in sys.argv:  # as torch.compile leaves it
        utils = sys.modules["torch._dynamo.utils"] = types.ModuleType("torch._dynamo.utils")
        utils.counters = {"stats": {"unique_graphs": 1}}
    recorder.begin()
    during = hooks()
    for _ in range(3):
        step()
        recorder.step()
    recorder.end()
    recorder.facts = {"from_step": 3, "steps": 3}
    parts = recorder.parts()
    for number, part in enumerate(parts):
        print(json.dumps(dict(part, part=number, parts=len(parts))))
    print(json.dumps(torch_blocks.composition(framework)))
    print(json.dumps({"during": during, "after": hooks(), "calls": len(recorder._calls._events)}))
