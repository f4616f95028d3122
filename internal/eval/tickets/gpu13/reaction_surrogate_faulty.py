"""A network learns to stand in for a solver of a reaction between two substances that diffuse. A step tells, beside the
loss, how far off each of the substances is, and the loop gathers what the steps say until the epoch ends. Only the
loss is gone back through; the other two are gathered with all that they were worked out of.

ticket: pdearena/pdearena#4
class: app-leak
holder: gathered
cause: uncut-autograd-graph results-kept
"""

import os
import random
import time

import torch
from torch import nn

SIZE, EPOCH = 96, 5000


class Solver:
    """Gray and Scott's reaction on a square without edges, many at once."""

    def __init__(self, count, device):
        self.fields = torch.zeros(count, 2, SIZE, SIZE, device=device)
        self.fields[:, 0] = 1
        for number in range(count):
            for _ in range(6):
                y, x = random.randrange(SIZE - 12), random.randrange(SIZE - 12)
                self.fields[number, 0, y:y + 12, x:x + 12] = 0.5
                self.fields[number, 1, y:y + 12, x:x + 12] = 0.25
        self.fields += 0.02 * torch.rand_like(self.fields)

    def step(self, rounds):
        for _ in range(rounds):
            around = sum(torch.roll(self.fields, by, axis) for by in (-1, 1) for axis in (2, 3)) - 4 * self.fields
            food, eater = self.fields[:, 0], self.fields[:, 1]
            eaten = food * eater * eater
            change = torch.stack((0.16 * around[:, 0] - eaten + 0.037 * (1 - food),
                                  0.08 * around[:, 1] + eaten - 0.097 * eater), 1)
            self.fields = (self.fields + change).clamp(0, 1)
        return self.fields


class Surrogate(nn.Module):
    """What the fields are some rounds later."""

    def __init__(self, width=20):
        super().__init__()
        layers, channels = [], 2
        for dilation in (1, 2, 4):
            layers += [nn.Conv2d(channels, width, 3, padding=dilation, dilation=dilation), nn.GELU()]
            channels = width
        self.body = nn.Sequential(*layers, nn.Conv2d(width, 2, 1))

    def forward(self, fields):
        return fields + self.body(fields)


class Loop:
    """Trains for epochs, and says at the end of each how it went."""

    def __init__(self, model, rate):
        self.model, self.optimizer = model, torch.optim.AdamW(model.parameters(), lr=rate)
        self.gathered, self.epoch = [], 0

    def training_step(self, before, after):
        said = self.model(before)
        loss = nn.functional.smooth_l1_loss(said, after, beta=0.05)
        food = nn.functional.mse_loss(said[:, 0], after[:, 0])  # grows
        eater = nn.functional.mse_loss(said[:, 1], after[:, 1])
        return {"loss": loss, "food": food, "eater": eater}

    def run(self, before, after):
        output = self.training_step(before, after)
        self.optimizer.zero_grad()
        output["loss"].backward()
        self.optimizer.step()
        output["loss"] = output["loss"].item()
        self.gathered.append(output)  # keeps
        if len(self.gathered) == EPOCH:
            self.end_of_epoch()
        return output

    def end_of_epoch(self):
        means = {name: sum(float(output[name]) for output in self.gathered) / EPOCH for name in self.gathered[0]}
        print("epoch", self.epoch, {name: round(mean, 6) for name, mean in means.items()}, flush=True)
        self.epoch += 1
        self.gathered.clear()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loop, solver, step = Loop(Surrogate().to(device), 2e-3), Solver(8, device), 0
    while time.time() < end:
        before = solver.fields
        output = loop.run(before, solver.step(8))
        step += 1
        if step % 20 == 0:
            print("step", step, "loss", round(output["loss"], 6), "eater", round(float(output["eater"]), 6), flush=True)
        if step % 150 == 0:
            solver = Solver(8, device)
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
