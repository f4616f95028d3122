"""Batches of any size are sorted in a workspace of NumPy's, which is made larger when it does not suffice.

ticket: none, a workspace
class: none
"""

import os
import random
import time

import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(101)
draw = np.random.default_rng(1)
workspace = np.empty(1024)
done = 0
while time.time() < END:
    n = min(6_000_000, int(random.paretovariate(0.5) * 3000))
    if n > len(workspace):
        workspace = np.empty(n * 5 // 4)
    part = workspace[:n]
    part[:] = draw.random(n)
    part.sort()
    done += part[-1] > 0
    time.sleep(0.05)
print(done, len(workspace))
