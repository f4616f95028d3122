"""Keeps its results in a variable of a function that returns before the end."""

import time

import gpumem_agent
import torch

surveys = gpumem_agent.agent().surveys


def look():
    """Has the sampling thread look now, and not some seconds into the run."""
    seen = surveys._notes[-1:]
    surveys._next = 0
    while surveys._notes[-1:] == seen:
        time.sleep(0.01)


def serve():
    results = [torch.empty(1 << 20) for _ in range(5)]
    time.sleep(0.3)
    look()
    for _ in range(40):
        results.append(torch.empty(1 << 20))
    look()


serve()
print("served")
