"""What arrays take of the host that nobody tells as arrays.

Beside a device that is alive, a framework tells the device's arrays alone. A tensor that
was copied to the host then is an object like others, and so is an array of NumPy that shows
somebody else's memory: of a tensor, of a mapping, of another array. The collector sees
neither the tensor's bytes nor what such an array is of.

No code of the program's runs: a class that is derived from a framework's is asked as the
framework's own.
"""

import sys

from gpumem_agent.holders.kinds import is_a


def base(item):
    """What an array of NumPy is of, which it keeps; None of all else."""
    kind = getattr(sys.modules.get("numpy"), "ndarray", None)
    if kind is None or not is_a(item, kind):
        return None
    shown = getattr(kind, "base", None)
    return shown.__get__(item) if shown is not None else None


def shown_bytes(array):
    """Bytes that an array of NumPy shows."""
    return int(sys.modules["numpy"].ndarray.nbytes.__get__(array))


def is_pinned(item):
    """Whether an object is memory that CuPy has pinned, which knows no more than its address."""
    kind = getattr(sys.modules.get("cupy.cuda.pinned_memory"), "PinnedMemoryPointer", None)
    return kind is not None and is_a(item, kind)


def size(item):
    """Bytes of a tensor or an array of JAX on the host; None of all else, and of one that lies
    elsewhere. A view counts with what it shows: those that keep a whole batch each may show one
    row of it."""
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    if kind is None or not is_a(item, kind):
        return _of_jax(item)
    try:
        plain = getattr(sys.modules["torch"]._C, "DisableTorchFunctionSubclass", None)
        if plain is None:
            return _of_tensor(item)
        with plain():
            return _of_tensor(item)
    except Exception:
        return None  # it has no memory, or its framework is yet to be read in


def _of_jax(item):
    kind = getattr(sys.modules.get("jax._src.array"), "ArrayImpl", None)
    if kind is None or not is_a(item, kind):
        return None
    try:
        on_host = all(device.platform == "cpu" for device in item.devices())
        return int(item.nbytes) if on_host else None
    except Exception:
        return None  # it was deleted, or is of a kind that tells no size


def _of_tensor(tensor):
    if tensor.device.type != "cpu":
        return None
    storage = (getattr(tensor, "untyped_storage", None) or tensor.storage)()
    if getattr(getattr(storage, "device", None), "type", "") == "meta":
        return None  # a stand-in, by which a compiler knows shapes
    whole, shown = storage.nbytes(), tensor.numel()
    if type(whole) is not int or type(shown) is not int:
        return None  # symbols, of what is traced
    return min(whole, shown * tensor.element_size())
