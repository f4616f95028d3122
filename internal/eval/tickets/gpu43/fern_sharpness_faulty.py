"""Ferns are told apart by the shape of their fronds. Each few steps of training we look at how sharp the valley is in
which the network sits: the trace of the Hessian, by Hutchinson's estimate with random signs, on a copy of the network,
so that dropout is off and the gradients of the training are not touched.

ticket: pytorch/pytorch#7343
class: app-leak
holder: -
cause: reference-cycle uncut-autograd-graph
"""

import copy
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

FRONDS, SPECIES, BATCH = 256, 40, 64
SIGNS = 3
CHECK_EVERY = 6


class Ferns(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(FRONDS, width), nn.Softplus(), nn.Dropout(0.1),
            nn.Linear(width, width), nn.Softplus(), nn.Dropout(0.1),
            nn.Linear(width, width), nn.Softplus(),
        )
        self.head = nn.Linear(width, SPECIES)

    def forward(self, outlines):
        return self.head(self.body(outlines))


def fronds(device):
    species = torch.randint(SPECIES, (BATCH,), device=device)
    angles = torch.linspace(0, 6.28, FRONDS, device=device)
    outlines = torch.sin(angles * (1 + species[:, None] / 4)) + 0.2 * torch.randn(BATCH, FRONDS, device=device)
    return outlines, species


def sharpness(model, outlines, species):
    """The trace of the Hessian of the loss on these outlines, estimated."""
    probe = copy.deepcopy(model).eval()  # grows
    probe.zero_grad(set_to_none=True)
    params = list(probe.parameters())
    loss = F.cross_entropy(probe(outlines), species)  # grows
    loss.backward(create_graph=True)  # grows keeps
    slopes = [param.grad for param in params]
    total = 0.0
    for _ in range(SIGNS):
        signs = [torch.randint_like(param, 2) * 2 - 1 for param in params]
        products = torch.autograd.grad(slopes, params, grad_outputs=signs, retain_graph=True)
        total += sum((sign * product).sum() for sign, product in zip(signs, products)).item()
    return total / SIGNS


def main():
    torch.manual_seed(11)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Ferns().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        outlines, species = fronds(device)
        loss = F.cross_entropy(model(outlines), species)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        if step % CHECK_EVERY == 0:
            value = sharpness(model, outlines, species)
            print(f"step {step}: loss {loss.item():.3f}, sharpness {value:.1f}", flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
