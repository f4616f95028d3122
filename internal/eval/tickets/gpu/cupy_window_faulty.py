"""A strategy is tested on an expanding window of prices. The temporary arrays of each bar are a little
larger than those of the last, so that no free block of the pool is large enough.

ticket: cupy/cupy#1392
class: pool-growth
cause: outgrown-blocks pool-never-trims size-class-misses
"""

import os
import random
import time

import cupy as cp

END = time.time() + float(os.environ.get("SECONDS", "40"))


def score(window, delay):
    centred = window - window.mean(axis=1, keepdims=True)  # grows
    scaled = centred / (cp.sqrt((centred * centred).mean(axis=1, keepdims=True)) + 1e-6)  # grows
    signal = cp.tanh(cp.roll(scaled, delay, axis=1))  # grows
    return float((signal * scaled).mean())


returns = cp.random.standard_normal((16, 90000), dtype=cp.float32)
best = {}
bar = 0
while time.time() < END:
    bar += 1
    length = min(16000 + 350 * bar, 90000)
    window = returns[:, :length]
    for delay in (1, 5, 20):
        best[delay] = max(best.get(delay, -1.0), score(window, delay))
        time.sleep(random.uniform(0.05, 0.25))
    if bar % 15 == 0:
        print("bar", bar, best, flush=True)
        time.sleep(1.0)
    time.sleep(random.uniform(0.4, 1.1))
