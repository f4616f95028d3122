"""Prints what a call of the driver costs before and after the interposer knows where the
line of Python stands, at different depths of calls."""

import ctypes
import sys
import time

sys.path.insert(0, sys.argv[1])  # of the agent's files
from gpumem_agent import callers

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
take, give = cuda.cuMemAlloc_v2, cuda.cuMemFree_v2
size = ctypes.c_size_t(1 << 20)


def pairs(n):
    address = ctypes.c_uint64()
    reference = ctypes.byref(address)
    begun = time.perf_counter()
    for _ in range(n):
        take(reference, size)
        give(address)
    return (time.perf_counter() - begun) / n


def at(depth):
    return at(depth - 1) if depth else min(pairs(20000) for _ in range(5))


before = at(0), at(20)
callers.open_callers().tell()
after = at(0), at(20)
for depth, a, b in zip((0, 20), before, after):
    print("at depth %d: an allocation and a free %.0f ns before, %.0f ns after" % (depth, a * 1e9, b * 1e9))
