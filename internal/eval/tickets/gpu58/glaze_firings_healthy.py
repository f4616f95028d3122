"""Searches for the settings of a small model that predicts how a glaze comes out of the kiln. Each trial is a run of
the tracker, which takes the losses and some panels with predictions and makes a summary when the run finishes. A run
that is broken off is finished when the program ends, so that no run is lost.

ticket: practice
class: none
"""

import atexit
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, BATCH, STEPS, PANEL_EVERY = 96, 16, 6, 2


class Run:
    """One trial. Panels are put together when it finishes."""

    def __init__(self, name, settings):
        self.name, self.settings = name, settings
        self.losses, self.panels = [], []
        self.state, self.summary = "running", None
        atexit.register(self.finish)

    def log_loss(self, loss):
        self.losses.append(loss)

    def log_panel(self, inputs, predicted, wanted):
        panel = torch.cat([inputs, predicted, wanted], dim=3)
        self.panels.append(panel.cpu().numpy())

    def finish(self):
        if self.state == "finished":
            return
        contrast = max((float(panel.std()) for panel in self.panels), default=0.0)
        loss = self.losses[-1] if self.losses else float("nan")
        self.summary = {"loss": loss, "contrast": contrast, **self.settings}
        self.state = "finished"
        atexit.unregister(self.finish)


def make_model(channels):
    return nn.Sequential(
        nn.Conv2d(1, channels, 5, padding=2), nn.ReLU(),
        nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(),
        nn.Conv2d(channels, 1, 3, padding=1),
    )


def firing(device):
    """The raw glaze, and how it looks once the kiln has smoothed it."""
    raw = torch.rand(BATCH, 1, SIDE, SIDE, device=device)
    return raw, F.avg_pool2d(raw, 5, stride=1, padding=2).sqrt()


def train(run, device):
    model = make_model(run.settings["channels"]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=run.settings["rate"])
    for step in range(STEPS):
        raw, fired = firing(device)
        predicted = model(raw)
        loss = F.mse_loss(predicted, fired)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.log_loss(loss.item())
        if step % PANEL_EVERY == 0:
            run.log_panel(raw, predicted.detach(), fired)
        time.sleep(random.uniform(0.03, 0.08))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    best, number = None, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        settings = {"channels": random.choice([4, 8, 12]), "rate": 10 ** random.uniform(-4, -2)}
        run = Run(f"firing-{number}", settings)
        train(run, device)
        run.finish()
        if best is None or run.summary["loss"] < best["loss"]:
            best = run.summary
        number += 1
        if number % 10 == 0:
            print(f"{number} runs, best loss {best['loss']:.4f} with {best['channels']} channels", flush=True)


if __name__ == "__main__":
    main()
