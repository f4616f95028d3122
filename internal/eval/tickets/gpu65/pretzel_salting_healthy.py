"""A bakery searches for the network that tells best from a pretzel's scan whether it is salted evenly. Two workers try
settings that are drawn at random: a trial trains a network for a moment, and gives its error on the held-out scans and
its weights. The best trial so far is told in the printed line, and its weights would go to the oven's controller.

ticket: practice
class: none
"""

import os
import random
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn
from torch.nn import functional as F

SCAN, SCANS, BATCH, STEPS, WORKERS = 200, 1024, 64, 25, 2
Setting = namedtuple("Setting", "width rate dropout decay")
Outcome = namedtuple("Outcome", "error setting weights")


def draw():
    return Setting(
        width=random.choice((256, 384, 512)),
        rate=10 ** random.uniform(-4, -2),
        dropout=random.uniform(0, 0.4),
        decay=10 ** random.uniform(-6, -3),
    )


def bake(count, device):
    """Scans along the pretzel, and how uneven the salt lies on each."""
    scans = torch.rand(count, SCAN, device=device) ** (1 + 3 * torch.rand(count, 1, device=device))
    return scans, scans.std(dim=1, keepdim=True)


def attempt(setting, train, held_out, device):
    model = nn.Sequential(
        nn.Linear(SCAN, setting.width),
        nn.ReLU(),
        nn.Dropout(setting.dropout),
        nn.Linear(setting.width, setting.width),
        nn.ReLU(),
        nn.Linear(setting.width, 1),
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=setting.rate, weight_decay=setting.decay)
    scans, targets = train
    for _ in range(STEPS):
        rows = torch.randint(SCANS, (BATCH,), device=device)
        loss = F.mse_loss(model(scans[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.01)
    model.eval()
    with torch.no_grad():
        error = F.mse_loss(model(held_out[0]), held_out[1]).item()
    weights = {name: value.cpu().numpy().copy() for name, value in model.state_dict().items()}
    return Outcome(error, setting, weights)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train, held_out = bake(SCANS, device), bake(256, device)
    trials, best, started = [], None, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with ThreadPoolExecutor(WORKERS) as pool:
        while time.time() < end:
            if sum(not trial.done() for trial in trials) < WORKERS:
                trials.append(pool.submit(attempt, draw(), train, held_out, device))
                started += 1
                if best and started % 10 == 0:
                    shown = f"width {best.setting.width}, rate {best.setting.rate:.1e}"
                    print(f"{started} trials: best error {best.error:.5f} with {shown}", flush=True)
            for trial in [trial for trial in trials if trial.done()]:
                trials.remove(trial)
                if best is None or trial.result().error < best.error:
                    best = trial.result()
            time.sleep(0.02)


if __name__ == "__main__":
    main()
