"""Crops of any size go through Fourier transforms. Each size needs a plan with a work area on the
device, and the cache of plans was given no limit.

ticket: cupy/cupy#5134
class: app-leak
cause: cache-without-bound per-shape-compile-cache
"""

import os
import random
import time

import cupy as cp

END = time.time() + float(os.environ.get("SECONDS", "40"))


def retrieve(height, width):
    """A few rounds of phase retrieval on one crop."""
    magnitude = cp.random.random((height, width), dtype=cp.float32)
    field = magnitude.astype(cp.complex64)
    for _ in range(3):
        spectrum = cp.fft.fft2(field)  # grows
        field = magnitude * cp.exp(1j * cp.angle(cp.fft.ifft2(spectrum))).astype(cp.complex64)
    return float(cp.abs(field).mean())


cp.fft.config.get_plan_cache().set_size(-1)
means = []
while time.time() < END:
    height, width = random.randint(400, 640), random.randint(400, 640)
    means.append(retrieve(height, width))
    if len(means) % 25 == 0:
        print("crops", len(means), sum(means[-25:]) / 25, flush=True)
        time.sleep(1.5)
    time.sleep(random.uniform(0.7, 1.5))
