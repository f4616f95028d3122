"""An allocator for real PyTorch on the processor, as if it were a caching one on a device:
each storage that an operation makes is a block."""

import sys
import time

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from gpumem_agent.frameworks import torch_blocks
from gpumem_agent.frameworks.torch import Torch

UNIT = 512


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
    """What the agent asks for."""

    def __init__(self, blocks):
        self.torch, self._blocks, self._real = torch, blocks, Torch(torch, None)

    def __getattr__(self, name):
        return getattr(self._real, name)

    def active(self):
        return True

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


def serve(blocks):
    """Lets a Blocks serve what PyTorch asks of a device."""

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

    torch_blocks.DEVICES = ("cpu",)
    torch_blocks.storage = storage
    torch.cuda.memory._record_memory_history = record
    torch.cuda.memory_stats_as_nested_dict = stats
    torch.cuda.current_device = int
