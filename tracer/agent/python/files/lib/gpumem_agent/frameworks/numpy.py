"""NumPy: host arrays, looked at only when no device is alive."""

import functools

from gpumem_agent.frameworks import Framework, Key
from gpumem_agent.holders.hostarrays import is_pinned

LEAST = 1024  # bytes; smaller arrays are part of the program's noise


class Numpy(Framework):
    name = "numpy"

    def __init__(self, numpy, others=()):
        """Others are the frameworks whose arrays of the host an array may be a view of."""
        self._kind, self._others = numpy.ndarray, others
        # What a class of the program's may have by these names is not asked.
        self._base, self._nbytes = numpy.ndarray.base.__get__, numpy.ndarray.nbytes.__get__
        self._name = functools.lru_cache(maxsize=64)(str)  # NumPy makes it anew each time

    def untracked_kinds(self):
        return (self._kind,)

    def describe(self, array):
        """A view of a few elements keeps the whole array that it is of, which the
        collector does not see."""
        root, base = array, self._base(array)
        while issubclass(type(base), self._kind):
            root, base = base, self._base(base)
        size = int(self._nbytes(root))
        if size < LEAST:
            return None
        group, shown = "%s %s" % (root.shape, self._name(root.dtype)), int(self._nbytes(array))
        if base is None or is_pinned(base):
            return id(root), size, group, shown
        other = next((f for f in self._others if issubclass(type(base), f.kinds())), None)
        told = other and other.describe(base)
        return told and (Key((other.name, told[0])), told[1], group, shown)  # else it is a file's that is mapped, say
