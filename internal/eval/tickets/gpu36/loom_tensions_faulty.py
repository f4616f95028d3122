"""Each loom in the mill needs its own thread tension model, and there are only a few readings for a loom. This
program learns a start from which one gradient step suffices (MAML): for each loom it copies the start, takes the
inner step on the support readings, and goes back through that step with the loss on the query readings.

ticket: pytorch/pytorch#4661
class: app-leak
holder: grad AccumulateGrad learner weights
cause: reference-cycle uncut-autograd-graph
"""

import math
import os
import random
import time

import torch
from torch.nn import functional as F

SIZES = 24, 512, 512, 1
SHOTS, LOOMS_PER_STEP, INNER_RATE = 16, 2, 0.02


def fresh_start(device):
    weights = []
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        weights.append(torch.randn(outputs, inputs, device=device) / math.sqrt(inputs))
        weights.append(torch.zeros(outputs, device=device))
    return [weight.requires_grad_() for weight in weights]


def forward(weights, readings):
    hidden = readings
    for index in range(0, len(weights), 2):
        hidden = F.linear(hidden, weights[index], weights[index + 1])
        if index + 2 < len(weights):
            hidden = torch.tanh(hidden)
    return hidden


class Loom:
    """A loom has its own law of tension, of which readings can be taken."""

    def __init__(self, device):
        self.device = device
        self.law = torch.randn(SIZES[0], 1, device=device) / math.sqrt(SIZES[0])
        self.phase = random.uniform(0, math.pi)

    def readings(self):
        settings = torch.randn(SHOTS, SIZES[0], device=self.device)
        return settings, torch.sin(settings @ self.law + self.phase)


def adapt(start, loom):
    """The loss on the query readings after the inner step, and its gradient at the start."""
    learner = [weight.detach().clone().requires_grad_() for weight in start]  # grows
    settings, tensions = loom.readings()
    loss = F.mse_loss(forward(learner, settings), tensions)
    loss.backward(create_graph=True)  # grows keeps
    fast = [weight - INNER_RATE * weight.grad for weight in learner]
    settings, tensions = loom.readings()
    query_loss = F.mse_loss(forward(fast, settings), tensions)
    return query_loss.item(), torch.autograd.grad(query_loss, learner)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    start = fresh_start(device)
    optimizer = torch.optim.Adam(start, lr=1e-3)
    step, smooth = 0, None
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for weight in start:
            weight.grad = torch.zeros_like(weight)
        for _ in range(LOOMS_PER_STEP):
            loss, gradient = adapt(start, Loom(device))
            smooth = loss if smooth is None else 0.95 * smooth + 0.05 * loss
            for weight, part in zip(start, gradient):
                weight.grad += part / LOOMS_PER_STEP
        optimizer.step()
        step += 1
        if step % 25 == 0:
            print(f"step {step}: query loss {smooth:.3f}", flush=True)
        time.sleep(random.uniform(0.15, 0.25))


if __name__ == "__main__":
    main()
