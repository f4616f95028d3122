"""Runs out of memory: as often as its argument says it catches the error."""

import sys

import torch

MIB = 1 << 20


class Model(torch.nn.Module):
    def __init__(self):
        self.training = True
        self._buffers = {"mask": torch.empty(MIB)}
        self.weights = [torch.nn.Parameter(torch.empty(4 * MIB)) for _ in range(3)]


model = Model()
wrapper = torch.optim.SGD(model.weights)  # of the same parameters, as Lightning has one
optimizer = torch.optim.SGD(model.weights)
torch.cuda.fill(model.weights[0], 4 * MIB)
optimizer.state[model.weights[0]] = {"momentum_buffer": torch.empty(4 * MIB)}
batch = torch.empty(2 * MIB)
output = torch.operation("Mean", torch.empty(8 * MIB))
torch.cuda.limit = 64 * MIB


def forward():
    return torch.empty(100 * MIB)


for _ in range(int(sys.argv[1])):
    try:
        forward()
    except torch.OutOfMemoryError:
        print("caught")
if sys.argv[2] == "die":
    forward()
