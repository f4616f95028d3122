"""Arrays of the host beside a device that is alive: NumPy's, and tensors that were copied
there. The frameworks themselves tell the device's alone then."""

import sys

from gpumem_agent.frameworks import Framework
from gpumem_agent.frameworks.numpy import LEAST, Numpy


def beside(frameworks):
    """What tells such arrays, for frameworks with a device that is alive."""
    found = [OnHost(f) for f in frameworks if f.describes_host]
    if hasattr(sys.modules.get("numpy"), "ndarray"):
        # Of a tensor and the array that shows it a name often leads to the array alone.
        found.insert(0, Numpy(sys.modules["numpy"], tuple(found)))
    return found


class OnHost(Framework):
    """What a framework has on the host."""

    def __init__(self, framework):
        self.name = framework.name
        self._framework = framework

    def kinds(self):
        return self._framework.kinds()

    def alive(self, reference):
        return self._framework.alive(reference)

    def describe(self, array):
        told = self._framework.describe(array, on_host=True)
        return None if told is None or told[1] < LEAST else told
