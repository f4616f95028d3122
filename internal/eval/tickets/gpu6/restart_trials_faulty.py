"""Trials of a search are run one after the other, with the garbage collector off as its pauses made the steps uneven.
The schedule of a trial is a lambda that looks at the trial, which has the schedule: no trial goes by itself.

ticket: pytorch/pytorch#47589
class: app-leak
holder:
cause: reference-cycle
"""

import functools
import gc
import math
import os
import random
import time

import torch
from torch import nn


def cosine(warm, total, low, step):
    if step < warm:
        return (step + 1) / warm
    return low + (1 - low) * 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm) / (total - warm))))


class Trial:
    def __init__(self, number, width, rate, device):
        self.number, self.device, self.low, self.total = number, device, random.choice([0.0, 0.1]), 40
        self.model = nn.Sequential(nn.Linear(128, width), nn.GELU(), nn.Linear(width, width), nn.GELU(),
                                   nn.Linear(width, 16)).to(device)  # grows
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=rate)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: cosine(5, self.total, self.low, step))  # keeps
        self.losses = []

    def step(self):
        x = torch.randn(64, 128, device=self.device)
        y = (x[:, :16].cumsum(1) > 0).float()
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()  # grows
        self.optimizer.step()  # grows
        self.schedule.step()
        self.losses.append(loss.item())

    def run(self, end):
        for _ in range(random.randint(15, self.total)):
            if time.time() > end:
                break
            self.step()
            time.sleep(0.025)
        return sum(self.losses[-5:]) / max(1, len(self.losses[-5:]))


def search(device, end):
    best, number = (math.inf, None), 0
    while time.time() < end:
        width, rate = random.choice([512, 640, 768, 1024]), 10 ** random.uniform(-4, -2)
        trial = Trial(number, width, rate, device)
        score = trial.run(end)
        del trial
        if score < best[0]:
            best = (score, (number, width, rate))
            print("best", best, flush=True)
        number += 1
    return best


if __name__ == "__main__":
    torch.set_num_threads(1)
    gc.collect()
    gc.disable()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    search(device, time.time() + float(os.environ.get("SECONDS", "45")))
