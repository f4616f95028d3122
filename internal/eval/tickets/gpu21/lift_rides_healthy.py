"""Lifts of a tall house send how they shake during a ride. A network sorts the shaking into kinds, and so that the
people who look after them see what is going on, metrics are collected: for each set of labels a picture of how often
which strength came at which frequency. To find a single ride again, the number of the last one is with each lift.

ticket: practice
class: none
"""

import os
import random
import time
import uuid

import torch
from torch import nn

LIFTS, KINDS, WINDOW, WINDOWS, LEVELS = 6, 5, 1024, 96, 512


class Child:
    """One labelled part of a metric."""

    def __init__(self, device):
        self.counts = torch.zeros(LEVELS, WINDOW // 2 + 1, device=device)
        self.rides, self.last = 0, None

    def observe(self, strength, ride):
        level = (strength.log1p() * 40).long().clamp(0, LEVELS - 1)
        self.counts.scatter_add_(0, level, torch.ones_like(strength))
        self.rides, self.last = self.rides + 1, ride


class Metric:
    """A picture of strengths, apart for every set of labels."""

    def __init__(self, name, device):
        self.name, self.device, self.children = name, device, {}

    def labels(self, **labels):
        key = tuple(sorted(labels.items()))
        child = self.children.get(key)
        if child is None:
            child = self.children[key] = Child(self.device)
        return child

    def collect(self):
        """For each frequency the level that is usual, over all children."""
        together = sum(child.counts for child in self.children.values())
        levels = torch.arange(LEVELS, device=self.device, dtype=torch.float32)
        return (together * levels[:, None]).sum(0) / together.sum(0).clamp(min=1)


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WINDOW // 2 + 1, 64), nn.ReLU(), nn.Linear(64, KINDS))

    def forward(self, strength):
        return self.layers(strength.log1p()).mean(0)


def ride(lift, device):
    """Shaking of the car: the motor's hum, the rails' joints, and noise."""
    moment = torch.arange(WINDOW * WINDOWS, device=device) / 2000
    hum = torch.sin(6.283 * (17 + 3 * lift) * moment) * random.uniform(0.5, 1.5)
    joints = (torch.sin(6.283 * 1.3 * moment) > 0.98).float()
    return (hum + joints + 0.2 * torch.randn_like(moment)).view(WINDOWS, WINDOW)


@torch.no_grad()
def judge(sorter, shaking, lift, device):
    strength = torch.fft.rfft(ride(lift, device)).abs()
    kind = int(sorter(strength).argmax())
    shaking.labels(lift=lift, kind=kind).observe(strength, uuid.uuid4().hex)
    return kind


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sorter, shaking = Sorter().to(device).eval(), Metric("lift_shaking", device)
    end, scraped, rides = time.time() + float(os.environ.get("SECONDS", "45")), time.time(), 0
    while time.time() < end:
        for _ in range(random.randint(1, 3)):
            judge(sorter, shaking, random.randrange(LIFTS), device)
            rides += 1
        if time.time() - scraped > 3:
            scraped = time.time()
            usual = shaking.collect()
            print("rides", rides, "loudest at", int(usual[1:].argmax()) + 1, "level", round(float(usual.max()), 1),
                  flush=True)
        time.sleep(random.uniform(0.15, 0.5))


if __name__ == "__main__":
    main()
