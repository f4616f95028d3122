"""What a capsule of DLPack keeps that nobody has taken over: the array that it exports.

The capsule's own structure says so: it is the first version's (dlpack.h, "dltensor"), or
begins with a version ("dltensor_versioned").
"""

import functools
import math

from gpumem_agent import imports

KIND = "PyCapsule"
MOST_AXES = 64
NAMES = ((b"dltensor", 0), (b"dltensor_versioned", 32))  # and where the array's description is


def is_capsule(item):
    return type(item).__name__ == KIND


def size(capsule):
    """Bytes of the array of a capsule; None where it has none, or that is not known."""
    reader = _reader()
    return reader.size(capsule) if reader is not None else None


@functools.lru_cache(maxsize=1)
def _reader():
    try:
        return _Reader(imports.bring("gpumem_agent.native").Native())
    except (ImportError, OSError, AttributeError, TypeError):
        return None


class _Reader:
    def __init__(self, native):
        capsule = native.Python
        self._is_valid = native.function("PyCapsule_IsValid", native.Int, capsule, native.Text, is_python=True)
        self._pointer = native.function("PyCapsule_GetPointer", native.Pointer, capsule, native.Text, is_python=True)
        self._count = native.Count
        self._array = native.structure(
            ("data", native.Pointer),
            *(("device", native.Int), ("number", native.Int), ("axes", native.Int)),
            *(("code", native.Byte), ("bits", native.Byte), ("lanes", native.Short)),
            ("shape", native.Pointer),
        )

    def size(self, capsule):
        for name, offset in NAMES:
            if self._is_valid(capsule, name):
                return self._of_array(self._array.from_address(self._pointer(capsule, name) + offset))
        return None

    def _of_array(self, array):
        if not 0 <= array.axes <= MOST_AXES or array.axes and not array.shape:
            return None
        lengths = (self._count * array.axes).from_address(array.shape) if array.axes else ()
        each = (array.bits * array.lanes + 7) // 8
        return each * math.prod(n for n in lengths)
