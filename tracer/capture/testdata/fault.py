#!/usr/bin/env python3
"""A planted fault in Python: calls the driver by ctypes, without a framework.

fault.py kept [healthy]: results are remembered, and freed only in the healthy one. A
model is loaded first, and each step has scratch memory of its own.
"""

import ctypes
import sys
import time

MIB = 1 << 20
cuda = ctypes.CDLL("libcuda.so.1")


def take(size):
    address = ctypes.c_uint64()
    if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)):
        raise MemoryError("the device is full")
    return address


def load():
    return [take_weights(i) for i in range(8)]


def take_weights(i):
    address = ctypes.c_uint64()
    cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t((64 + i) * MIB))
    return address


def remember(cache, key):
    address = ctypes.c_uint64()
    cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(MIB))
    if key in cache:
        cuda.cuMemFree_v2(cache.pop(key))
    cache[key] = address


def main():
    keys = 8 if "healthy" in sys.argv else 1 << 30
    cuda.cuInit(0)
    time.sleep(0.3)  # as starting a device takes
    weights, cache = load(), {}
    for step in range(300):
        scratch = take(16 * MIB)
        remember(cache, step % keys)
        cuda.cuMemFree_v2(scratch)
        time.sleep(0.03)
    return weights


main()
