"""One GPU. Blocks come from segments of 2 MiB or more that stay reserved until
empty_cache."""

import sys
import time

SEGMENT = 2 << 20

initialized_by = None  # module that first used the device
_calls = []
_live = {}
_counts = {"live": 0, "allocated": 0, "freed": 0, "segments": 0, "reserved": 0, "peak": 0}
_recording = False
_next = [0]
_events = []
observers = []
limit = 8 << 30  # of all live memory


class OutOfMemoryError(RuntimeError):
    """As PyTorch's own."""


def address_of(block):
    return (1 << 40) + (block << 34)


def fill(tensor, size):
    """Gives a parameter its gradient."""
    from torch._tensor import empty

    tensor.grad = empty(size)


def is_initialized():
    return initialized_by is not None


def _lazy_call(callable_, **_):
    if is_initialized():
        callable_()
    else:
        _calls.append(callable_)


def _lazy_init():
    global initialized_by
    if initialized_by is None:
        frame = sys._getframe(1)
        while "torch" in frame.f_globals["__name__"].split("."):
            frame = frame.f_back
        initialized_by = frame.f_globals["__name__"]
        while _calls:
            _calls.pop()()


def current_device():
    return 0


def device_count():
    return 1


def _note(action, block, size, frames):
    if _recording == "all":
        event = {"action": action, "addr": address_of(block), "size": size, "frames": frames}
        _events.append(dict(event, stream=0, time_us=time.time_ns() // 1000))


def record(enabled):
    global _recording
    _lazy_init()
    _recording = enabled or False
    if not enabled:
        _events.clear()


def allocate(size):
    _lazy_init()
    frames = []
    frame = sys._getframe(1) if _recording else None
    while frame is not None:
        code = frame.f_code
        frames.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    if _counts["live"] + size > limit:
        for observer in observers:
            observer(0, size, limit, limit - _counts["reserved"])
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate %d bytes." % size)
    _next[0] += 1
    _live[_next[0]] = (size, frames)
    _counts["peak"] = max(_counts["peak"], _counts["live"] + size)
    _note("alloc", _next[0], size, frames)
    _counts["allocated"] += 1
    _counts["live"] += size
    grow = _counts["live"] - _counts["reserved"]
    if grow > 0:
        _counts["reserved"] += -(-grow // SEGMENT) * SEGMENT
        _counts["segments"] += 1
    return _next[0]


def free(block):
    size, frames = _live.pop(block)
    _counts["live"] -= size
    _note("free_requested", block, size, frames)
    _note("free_completed", block, size, frames)
    _counts["freed"] += 1


def memory_stats_as_nested_dict(device=None):
    _lazy_init()
    return {
        "allocated_bytes": {"all": {"current": _counts["live"], "peak": _counts["peak"]}},
        "reserved_bytes": {"all": {"current": _counts["reserved"]}},
        "allocation": {
            "all": {
                "current": len(_live),
                "allocated": _counts["allocated"],
                "freed": _counts["freed"],
            }
        },
        "segment": {"all": {"allocated": _counts["segments"]}},
    }


def empty_cache():
    _lazy_init()
    _counts["reserved"] = -(-_counts["live"] // SEGMENT) * SEGMENT


def synchronize(device=None):
    _lazy_init()


class _Properties:
    name = "Fake GPU"
    total_memory = 8 << 30
    is_integrated = 0


def get_device_properties(device):
    _lazy_init()
    return _Properties


class memory:
    memory_stats_as_nested_dict = staticmethod(memory_stats_as_nested_dict)

    @staticmethod
    def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=0):
        sys.modules["torch"]._C._cuda_record_memory_history(enabled, context, stacks, max_entries)

    @staticmethod
    def _snapshot(with_traces=True):
        hasattr(sys.modules["torch"], "_inductor")  # as the real one, to resolve frames
        segments = [
            {
                "device": 0,
                "address": address_of(block),
                "total_size": size,
                "segment_type": "large",
                "segment_pool_id": (0, 0),
                "stream": 0,
                "blocks": [
                    {
                        "state": "active_allocated",
                        "address": address_of(block),
                        "size": size,
                        "frames": frames,
                    }
                ],
            }
            for block, (size, frames) in list(_live.items())
        ]
        traces = [list(_events)] if with_traces and _recording == "all" else []
        return {"segments": segments, "device_traces": traces}
