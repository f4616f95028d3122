"""Trains for some steps whose peak is known: 20 MiB stay, 12 MiB come and go."""

import os
import time

import torch

MIB = 1 << 20


class Model(torch.nn.Module):
    def __init__(self):
        self.training = True
        self._buffers = {}
        self.weights = [torch.nn.Parameter(torch.empty(4 * MIB)) for _ in range(3)]


model = Model()
optimizer = torch.optim.SGD(model.weights)
optimizer.state[model.weights[0]] = {"momentum_buffer": torch.empty(8 * MIB)}


def forward():
    hidden = torch.empty(8 * MIB)
    return hidden, torch.empty(4 * MIB)


def step():
    kept = forward()
    del kept
    optimizer.step()


if os.environ.get("RECORDS_ITSELF"):
    torch.cuda.memory._record_memory_history("all")
for number in range(12):
    step()
    if number == 4 and os.environ.get("RECORDS_LATER"):
        torch.cuda.memory._record_memory_history("all")
    time.sleep(0.03)
print(torch._C._cuda_isHistoryEnabled())
