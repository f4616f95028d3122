"""Keeps its results in a variable of a function that returns before the end,
without an optimizer."""

import sys
import time

import gpumem_agent
import torch

surveys = gpumem_agent.agent().surveys


def look():
    """Has the sampling thread look now, and not some seconds into the run."""
    spent = surveys._spent
    surveys._next = 0
    while surveys._spent == spent:
        time.sleep(0.01)


def serve():
    results = [torch.empty(1 << 20) for _ in range(10)]
    time.sleep(0.3)
    look()
    for _ in range(80):
        results.append(torch.empty(1 << 20))
    while surveys.sites_before() is None:  # until the first look is old enough
        time.sleep(0.01)
    look()


serve()
print(torch.cuda.initialized_by, "torch._inductor" in sys.modules)
