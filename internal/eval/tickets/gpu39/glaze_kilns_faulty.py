"""A potter's network foretells the colour of a glaze from its recipe and from the curve of the kiln. Every few steps it
is tried on fresh test tiles; the smoothed loss of these trials decides when the learning rate is halved.

ticket: practice
class: app-leak
holder: smoothed Patience patience grad_fn
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

RECIPE, HOURS, WIDTH, COLOURS = 18, 46, 448, 3
BATCH, TRIAL, EVERY = 128, 1024, 6


class Glaze(nn.Module):
    def __init__(self):
        super().__init__()
        self.recipe = nn.Linear(RECIPE, WIDTH)
        self.kiln = nn.Linear(HOURS, WIDTH)
        self.mix = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, COLOURS))

    def forward(self, recipe, curve):
        return self.mix(torch.tanh(self.recipe(recipe)) * torch.sigmoid(self.kiln(curve)))


class Patience:
    """Halves the learning rate when the smoothed loss has not fallen for a while."""

    def __init__(self, optimizer, trials=12, smooth=0.9):
        self.optimizer, self.trials, self.smooth = optimizer, trials, smooth
        self.smoothed, self.best, self.waited = None, float("inf"), 0

    def step(self, loss):
        if self.smoothed is None:
            self.smoothed = loss
        else:
            self.smoothed = self.smooth * self.smoothed + (1 - self.smooth) * loss  # keeps
        if self.smoothed.item() < self.best:
            self.best, self.waited = self.smoothed.item(), 0
        else:
            self.waited += 1
        if self.waited >= self.trials:
            self.waited = 0
            for group in self.optimizer.param_groups:
                group["lr"] = max(0.5 * group["lr"], 1e-5)


def tiles(count, device):
    recipe = torch.rand(count, RECIPE, device=device)
    curve = torch.rand(count, HOURS, device=device).cumsum(1) / HOURS
    colour = torch.stack([recipe[:, 0] * curve[:, -1], recipe[:, 1:4].mean(1), curve.mean(1)], dim=1)
    return recipe, curve, colour + 0.02 * torch.randn_like(colour)


def trial(model, device):
    model.eval()
    recipe, curve, colour = tiles(TRIAL, device)
    loss = F.smooth_l1_loss(model(recipe, curve), colour, beta=0.1)  # grows
    model.train()
    return loss


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Glaze().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    patience, step = Patience(optimizer), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        recipe, curve, colour = tiles(BATCH, device)
        loss = F.smooth_l1_loss(model(recipe, curve), colour, beta=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % EVERY == 0:
            patience.step(trial(model, device))
        if step % (5 * EVERY) == 0:
            print(f"step {step}: trials {patience.smoothed.item():.4f}, rate {optimizer.param_groups[0]['lr']:.5f}",
                  flush=True)
        time.sleep(random.uniform(0.04, 0.08))


if __name__ == "__main__":
    main()
