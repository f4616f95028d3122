"""A stand-in for mlx.core, which starts its device when asked for memory."""

started_by_question = False
_live = [0]
_cache = [0]
_made = [0]


class array:
    __slots__ = ("nbytes", "shape", "dtype")

    def __init__(self, size):
        self.nbytes, self.shape, self.dtype = size, (size,), "float32"
        _made[0] += 1
        _live[0] += size

    def __del__(self):
        _live[0] -= self.nbytes
        _cache[0] += self.nbytes


def _ask():
    global started_by_question
    if not _made[0]:
        started_by_question = True


def get_active_memory():
    _ask()
    return _live[0]


def get_cache_memory():
    _ask()
    return _cache[0]


def clear_cache():
    _ask()
    _cache[0] = 0


def synchronize():
    _ask()


def default_device():
    return "Device(gpu, 0)"
