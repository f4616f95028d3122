"""Keeps autograd's graphs on the processor as its argument says, and prints what it tells of
an error after that, as if a caching allocator had refused memory."""

import json
import sys
import types

import torch
from allocator import Blocks, Framework, serve

from gpumem_agent.frameworks import torch_oom

torch_oom.SECONDS = torch_oom.GRAPH_SECONDS = torch_oom.HOLDER_SECONDS = 60  # the machine may be slow
blocks = Blocks()
serve(blocks)


class Twice(torch.nn.Module):
    """Two steps of one cell, and an encoder and a decoder that have one embedding."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
        self.head = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))

    def forward(self, x):
        return self.head(self.cell(torch.tanh(self.cell(self.embed(x) + self.embed(x * 2)))))


def fail():
    framework = Framework(blocks)
    surveys = types.SimpleNamespace(told=[], look_now=lambda *_: None)
    process = types.SimpleNamespace(hold=True, surveys=surveys, frameworks=[framework], failed=failed)
    observer, told = torch_oom.OutOfMemory(framework, process), {}
    observer._add_blocks(told, 0)
    observer._add_holders(told, 0)
    print(json.dumps(told))


def failed(error):
    raise error


def batch():
    return torch.ones(256, 64)


def one(model):
    output = model(batch())
    fail()
    return output


def summed(model):
    total = 0
    for _ in range(6):
        loss = model(batch()).square().mean()
        total = total + loss
    fail()


def carried(model):
    """The state goes on from step to step with the graph of all steps before."""
    state = batch()
    for _ in range(20):
        state = torch.tanh(model.cell(state))
    fail()


def listed(model):
    outputs = []
    for _ in range(6):
        outputs.append(model(batch()))
    fail()


def trained(model):
    """Each pass has its backward pass; the losses are kept, and hold but their graphs."""
    losses = []
    for _ in range(6):
        losses.append(model(batch()).square().mean())
        losses[-1].backward()
    fail()


def attacked(model):
    """A gradient for the input, not for the model."""
    picture = batch().requires_grad_()
    output = model(picture)
    fail()
    return output


def plain(model):
    kept = []
    with torch.no_grad():
        for _ in range(6):
            kept.append(model(batch()))
    fail()


def main(how, mode):
    model = Twice().train(mode != "eval")
    criterion = torch.nn.MSELoss()  # stays in training mode
    globals()[how](model)
    return criterion


with blocks:
    main(*sys.argv[1:])
