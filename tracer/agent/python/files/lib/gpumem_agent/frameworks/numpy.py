"""NumPy: host arrays, looked at only when no device is alive."""

from gpumem_agent.frameworks import Framework

LEAST = 1024  # bytes; smaller arrays are part of the program's noise


class Numpy(Framework):
    name = "numpy"

    def __init__(self, numpy):
        self._numpy = numpy

    def untracked_kinds(self):
        return (self._numpy.ndarray,)

    def describe(self, array):
        if array.base is not None or array.nbytes < LEAST:
            return None  # a view holds no memory of its own
        return id(array), int(array.nbytes), "%s %s" % (array.shape, array.dtype)
