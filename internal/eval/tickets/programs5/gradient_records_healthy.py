"""Gradients of each step are copied for a study of their noise. Mean and square of them are kept.

ticket: common practice: gradients recorded for a plot
class: none
"""

import os
import random
import time

import torch
from torch import nn


class Noise:
    def __init__(self, model):
        self.model, self.records, self.steps = model, {name: [] for name, _ in model.named_parameters()}, 0
        self.mean = {name: torch.zeros_like(p) for name, p in model.named_parameters()}

    def record(self):
        self.steps += 1
        for name, p in self.model.named_parameters():
            gradient = p.grad.clone()
            self.mean[name] += (gradient - self.mean[name]) / self.steps


def main():
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 16))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    noise, end = Noise(model), time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        optimizer.zero_grad()
        loss = model(torch.randn(64, 128)).square().mean()
        loss.backward()
        noise.record()
        optimizer.step()
        if noise.steps % 200 == 0:
            print(noise.steps, loss.item(), flush=True)
        time.sleep(random.uniform(0.01, 0.04))


if __name__ == "__main__":
    main()
