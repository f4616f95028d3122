"""Keeps its results in a variable of a function that returns before the end,
without an optimizer."""

import sys
import time

import gpumem_agent
import torch
from gpumem_agent import surveys as times

# Looks come when they are asked for alone, however slow the machine is.
times.FIRST_SECONDS = times.SECONDS = 3600
surveys = gpumem_agent.agent().surveys
surveys._begin()


def look():
    """Has the sampling thread look now, and not some seconds into the run."""
    spent = surveys.allowance.spent
    surveys._next = 0
    while surveys.allowance.spent == spent:
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
