"""Keeps its results, without an optimizer; long enough for the survey."""

import sys
import time

import torch

results = []
for _ in range(90):
    results.append(torch.empty(1 << 20))
    time.sleep(0.03)
print(torch.cuda.initialized_by, "torch._inductor" in sys.modules)
