"""Training that gets unstable is taken back to a point before. The points are copies of all weights in pinned memory
of the host, made every few seconds; there are four, and the oldest is written over.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch
from torch import nn


class Point:
    def __init__(self, parameters, pinned):
        self.step, self.loss = -1, math.inf
        self.copies = [torch.empty(p.shape, dtype=p.dtype, pin_memory=pinned) for p in parameters]

    @torch.no_grad()
    def save(self, parameters, step, loss):
        for copy, parameter in zip(self.copies, parameters):
            copy.copy_(parameter)
        self.step, self.loss = step, loss
        return self

    @torch.no_grad()
    def load(self, parameters):
        for copy, parameter in zip(self.copies, parameters):
            parameter.copy_(copy)


class Guard:
    """Watches the loss, saves points and goes back to them."""

    def __init__(self, parameters, pinned, every=1.2, room=4):
        self.parameters, self.pinned, self.every = list(parameters), pinned, every
        self.points, self.room, self.due, self.mean, self.rollbacks = [], room, time.time(), None, 0

    def observe(self, step, loss):
        self.mean = loss if self.mean is None else 0.95 * self.mean + 0.05 * loss
        if loss > 3 * self.mean:
            return self.roll_back()
        if time.time() > self.due and loss < 1.2 * self.mean:
            self.due = time.time() + self.every * random.uniform(0.6, 1.4)
            full = len(self.points) >= self.room
            point = self.points.pop(0) if full else Point(self.parameters, self.pinned)
            self.points.append(point.save(self.parameters, step, loss))

    def roll_back(self):
        good = [point for point in self.points if point.loss < 1.5 * self.mean]
        if good:
            good[-1].load(self.parameters)
            self.rollbacks += 1


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Embedding(6000, 256), nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    guard, step = Guard(model.parameters(), device == "cuda"), 0
    while time.time() < end:
        tokens = torch.randint(0, 6000, (16, 24), device=device)
        wanted = torch.sin(tokens[..., None] * torch.linspace(0.1, 1, 256, device=device))
        loss = nn.functional.mse_loss(model(tokens), wanted)
        if random.random() < 0.01:
            loss = loss * 200
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        guard.observe(step, loss.item())
        step += 1
        if step % 100 == 0:
            print("step", step, "loss", round(guard.mean, 4), "rollbacks", guard.rollbacks, flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
