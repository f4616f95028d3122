"""Sums up its losses with their graphs in a variable of a function that returns
before the end, when the agent has seen it."""

import time

import gpumem_agent
import torch

optimizer = torch.optim.SGD([torch.empty(1 << 20)])
surveys = gpumem_agent.agent().surveys


def train():
    total = torch.empty(512)
    for _ in range(3000):
        loss = torch.operation("Mean", torch.empty(1 << 20))
        total = torch.operation("Add", total, loss)
        optimizer.step()
        if surveys.told:
            return
        time.sleep(0.01)


train()
print("trained")
