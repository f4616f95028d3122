"""A strategy is tested on a window of prices, which expands for the first ten seconds and then has
its full length and moves on. The pool reuses the same blocks.

ticket: cupy/cupy#1392
class: none
"""

import os
import random
import time

import cupy as cp

END = time.time() + float(os.environ.get("SECONDS", "40"))


def score(window, delay):
    centred = window - window.mean(axis=1, keepdims=True)
    scaled = centred / (cp.sqrt((centred * centred).mean(axis=1, keepdims=True)) + 1e-6)
    signal = cp.tanh(cp.roll(scaled, delay, axis=1))
    return float((signal * scaled).mean())


returns = cp.random.standard_normal((16, 90000), dtype=cp.float32)
best = {}
bar = 0
while time.time() < END:
    bar += 1
    length = min(16000 + 3000 * bar, 40000)
    end = length + 350 * (bar % 140)
    window = returns[:, end - length:end]
    for delay in (1, 5, 20):
        best[delay] = max(best.get(delay, -1.0), score(window, delay))
        time.sleep(random.uniform(0.05, 0.25))
    if bar % 15 == 0:
        print("bar", bar, best, flush=True)
        time.sleep(1.0)
    time.sleep(random.uniform(0.4, 1.1))
