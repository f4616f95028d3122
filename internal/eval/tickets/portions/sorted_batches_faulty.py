"""Batches of any size are sorted, and a view of each stays with its answer.

ticket: none, views that keep what they are of
class: host-growth
holder: answers
cause: results-kept
"""

import os
import random
import time

import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(101)
draw = np.random.default_rng(1)
answers = []
done = 0
while time.time() < END:
    n = min(60_000, int(random.paretovariate(0.5) * 1000))
    part = draw.random(n)
    part.sort()
    answers.append((part[:3], part[-1]))  # grows
    done += 1
    time.sleep(0.05)
print(done, len(answers))
