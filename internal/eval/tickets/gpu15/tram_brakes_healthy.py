"""Trams send how hard each wheel was braked while they came to a halt, and a network says whether a brake is wearing
out. What looks strange is logged as a warning, with the curves. The log is watched by a reporter, which sends warnings
on to the workshop, each with the few records before it; it knows only the last ones.

ticket: rollbar/pyrollbar#43
class: none
"""

import json
import logging
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WHEELS, TICKS, TRAMS, BEFORE = 8, 8192, 10, 6

log = logging.getLogger("trams")


class Wear(nn.Module):
    """Draws the curve that a sound brake would have had."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv1d(WHEELS, 24, 15, 4, 7), nn.ReLU(), nn.Conv1d(24, 24, 15, 4, 7), nn.ReLU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=16), nn.Conv1d(24, WHEELS, 9, padding=4))

    def forward(self, curves):
        return self.up(self.down(curves))


class Reporter(logging.Handler):
    """Sends on what is worth it, with what was logged just before."""

    def __init__(self, level=logging.INFO):
        super().__init__(level)
        self.last, self.sent, self.letters = [], 0, 0

    def add_history(self, record):
        history = list(self.last)
        self.last = self.last[1 - BEFORE:] + [record]
        return history

    def payload(self, record, history):
        lines = [{"at": old.created, "text": old.getMessage()[:80]} for old in history]
        return json.dumps({"text": record.getMessage()[:80], "before": lines})

    def emit(self, record):
        history = self.add_history(record)
        if record.levelno >= logging.WARNING:
            self.sent += 1
            self.letters += len(self.payload(record, history))


def halts(device):
    """Trams braking, some of them with a wheel that grips late."""
    ticks = torch.linspace(0, 1, TICKS, device=device)
    hard = 0.4 + 0.6 * torch.rand(TRAMS, WHEELS, 1, device=device)
    late = 0.1 + 0.05 * torch.rand(TRAMS, WHEELS, 1, device=device)
    late[torch.randperm(TRAMS, device=device)[:2], random.randrange(WHEELS)] += 0.25
    curves = hard * torch.sigmoid(30 * (ticks - late)) * (1 - ticks) ** 0.3
    return curves + 0.02 * torch.randn_like(curves)


class Depot:
    def __init__(self, device):
        self.device, self.model = device, Wear().to(device)
        self.optimizer, self.usual = torch.optim.Adam(self.model.parameters(), 2e-3), 0.1

    def round(self):
        curves = halts(self.device)
        drawn = self.model(curves)
        loss = F.mse_loss(drawn, curves)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        off = (drawn.detach() - curves).square().mean((1, 2))
        self.usual = 0.7 * self.usual + 0.3 * float(off.median())
        for tram in range(TRAMS):
            shown = curves[tram].to("cpu", copy=True)
            if off[tram] > 1.3 * self.usual:
                log.warning("tram %d brakes in a strange way: %.4f, curves %s", tram, float(off[tram]), shown)
            elif random.random() < 0.3:
                log.info("tram %d is fine, curves %s", tram, shown)
        return float(loss.detach())


def main():
    torch.set_num_threads(1)
    reporter = Reporter()
    log.addHandler(reporter)
    log.setLevel(logging.INFO)
    log.propagate = False
    depot, rounds = Depot("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss, rounds = depot.round(), rounds + 1
        if rounds % 10 == 0:
            print("round", rounds, "loss", round(loss, 4), "reported", reporter.sent, "letters", reporter.letters,
                  flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
