"""One GPU. Blocks come from segments of 2 MiB or more that stay reserved until
empty_cache."""

import sys

SEGMENT = 2 << 20

initialized_by = None  # module that first used the device
_calls = []
_live = {}
_counts = {"live": 0, "allocated": 0, "freed": 0, "segments": 0, "reserved": 0}
_recording = False
_next = [0]


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


def device_count():
    return 1


def allocate(size):
    _lazy_init()
    frames = []
    frame = sys._getframe(1) if _recording else None
    while frame is not None:
        code = frame.f_code
        frames.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    _next[0] += 1
    _live[_next[0]] = (size, frames)
    _counts["allocated"] += 1
    _counts["live"] += size
    grow = _counts["live"] - _counts["reserved"]
    if grow > 0:
        _counts["reserved"] += -(-grow // SEGMENT) * SEGMENT
        _counts["segments"] += 1
    return _next[0]


def free(block):
    _counts["live"] -= _live.pop(block)[0]
    _counts["freed"] += 1


def memory_stats_as_nested_dict(device=None):
    _lazy_init()
    return {
        "allocated_bytes": {"all": {"current": _counts["live"]}},
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
        global _recording
        _lazy_init()
        _recording = enabled is not None

    @staticmethod
    def _snapshot():
        hasattr(sys.modules["torch"], "_inductor")  # as the real one, to resolve frames
        blocks = [
            {"state": "active_allocated", "size": size, "frames": frames}
            for size, frames in list(_live.values())
        ]
        return {"segments": [{"blocks": blocks}], "device_traces": []}
