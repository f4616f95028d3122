"""A stand-in for JAX: one GPU client that exists once the program asks."""

from jax import monitoring
from jax._src import xla_bridge

__version__ = "0.0.fake"
__all__ = ["monitoring", "zeros", "clear_caches"]


def zeros(size):
    client = xla_bridge.get_backend()
    array = xla_bridge.Array(size)
    client.arrays.add(array)
    client.allocs += 1
    return array


def clear_caches():
    pass
