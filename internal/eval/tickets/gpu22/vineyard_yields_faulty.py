"""What will a vineyard yield? Each has soil, slope and weather of its own, so each gets a network of its own, trained
on its rows of vines one vineyard after the other. All of it is set up by one Accelerator, made at the start.

ticket: huggingface/accelerate#84
class: app-leak
holder: _models _optimizers _schedulers accelerator Accelerator
cause: modules-made-at-run-time results-kept buffer-without-bound
"""

import os
import random
import time

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES, WIDTH, ROWS, BATCH = 24, 640, 320, 64


class YieldNet(nn.Module):
    """Kilograms of grapes of a row of vines."""

    def __init__(self, features, width):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                   nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, 1)

    def forward(self, rows):
        return self.out(self.inner(rows)).squeeze(1)


class Vineyard:
    """Rows of vines; how they depend on what is measured differs between vineyards."""

    def __init__(self, number):
        self.name = f"vineyard {number}"
        rng = np.random.default_rng(number)
        self.measured = rng.normal(0, 1, (ROWS, FEATURES)).astype(np.float32)
        depends = rng.normal(0, 1, FEATURES)
        self.yields = (np.tanh(self.measured @ depends) + rng.normal(0, 0.1, ROWS)).astype(np.float32)

    def loader(self):
        rows = TensorDataset(torch.from_numpy(self.measured), torch.from_numpy(self.yields))
        return DataLoader(rows, batch_size=BATCH, shuffle=True, drop_last=True)


def train(accelerator, vineyard, epochs):
    model = YieldNet(FEATURES, WIDTH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=random.choice((5e-4, 1e-3, 2e-3)))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * (ROWS // BATCH))
    model, optimizer, loader, schedule = accelerator.prepare(  # grows keeps
        model, optimizer, vineyard.loader(), schedule)
    model.train()
    for _ in range(epochs):
        total = 0.0
        for rows, yields in loader:
            loss = nn.functional.huber_loss(model(rows), yields)
            optimizer.zero_grad()
            accelerator.backward(loss)  # grows
            optimizer.step()  # grows
            schedule.step()
            total += loss.item()
            time.sleep(random.uniform(0.02, 0.1))
    return total / (ROWS // BATCH)


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    end, number, errors = time.time() + float(os.environ.get("SECONDS", "45")), 0, {}
    while time.time() < end:
        number += 1
        vineyard = Vineyard(number)
        errors[vineyard.name] = train(accelerator, vineyard, random.choice((2, 3, 4)))
        accelerator.print(vineyard.name, "error", round(errors[vineyard.name], 4), "median",
                          round(float(np.median(list(errors.values()))), 4), flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
