"""Keeps its batches and its losses with their graphs; a healthy model beside."""

import time

import torch

MIB = 1 << 20
model = [torch.empty(MIB) for _ in range(4)]
optimizer = torch.optim.SGD(model)
history, losses = [], []


def step():
    history.append(torch.empty(4 * MIB))
    losses.append(torch.operation("Mean", torch.empty(MIB)))
    optimizer.step()


for _ in range(40):
    step()
    time.sleep(0.01)
temporary = torch.empty(64 * MIB)
del temporary
print(torch.cuda.initialized_by)
