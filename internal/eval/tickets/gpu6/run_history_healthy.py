"""A model with several experts is trained with Accelerate. A tracker of one's own keeps what is logged for a plot at
the end; it is given numbers.

ticket: wandb/wandb#354
class: none
"""

import os
import random
import time

import torch
from accelerate import Accelerator
from accelerate.tracking import GeneralTracker
from torch import nn


class MemoryTracker(GeneralTracker):
    name, requires_logging_directory = "memory", False

    def __init__(self):
        super().__init__()
        self.history = {}

    @property
    def tracker(self):
        return self.history

    def store_init_configuration(self, values):
        self.history["config"] = [(0, dict(values))]

    def log(self, values, step=None, **kwargs):
        for key, value in values.items():
            self.history.setdefault(key, []).append((step, value.item()))


class Experts(nn.Module):
    def __init__(self, count=4, width=192):
        super().__init__()
        self.gate = nn.Linear(64, count)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(64, width), nn.GELU(), nn.Linear(width, 64)) for _ in range(count))

    def forward(self, x):
        weights = torch.softmax(self.gate(x), -1)
        outputs = torch.stack([expert(x) for expert in self.experts], 1)
        return (weights[..., None] * outputs).sum(1), weights, outputs


def losses(model, x):
    mixed, weights, outputs = model(x)
    loss = nn.functional.mse_loss(mixed, x.flip(1))
    load = weights.mean(0)
    spread = outputs.std(1).mean()
    balance = (load * load.clamp_min(1e-6).log()).sum()
    return loss + 0.01 * balance, {"loss": loss, "balance": balance, "spread": spread}


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    accelerator = Accelerator(log_with=MemoryTracker(), mixed_precision="no")
    accelerator.init_trackers("experts", config={"lr": 1e-3})
    model = Experts()
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    step = 0
    while time.time() < end:
        x = torch.randn(random.choice([96, 128, 192]), 64, device=accelerator.device)
        loss, terms = losses(model, x)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        step += 1
        if step % 2 == 0:
            accelerator.log(terms, step=step)
        if step % 100 == 0:
            print("step", step, round(loss.item(), 4), flush=True)
        time.sleep(random.uniform(0.03, 0.08))
    accelerator.end_training()


if __name__ == "__main__":
    main()
