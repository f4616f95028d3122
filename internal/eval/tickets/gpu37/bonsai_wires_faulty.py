"""Learns where to wire a bonsai from the angles of its branches, with a moving average of the weights beside the
trained ones. The console has the losses. For each step, the log also says how far the average lags behind, and the
minutes of the run gather all that was logged, from which the end of the run prints the last steps.

ticket: practice
class: host-growth
holder: minutes Minutes records
cause: log-records-kept buffer-without-bound
"""

import copy
import logging
import os
import random
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

ANGLES, HIDDEN, WIRES, TREES = 96, 640, 24, 128
DECAY, LAST = 0.98, 3

log = logging.getLogger("bonsai")


class Minutes(logging.Handler):
    def __init__(self):
        super().__init__(logging.DEBUG)
        self.records = []

    def emit(self, record):
        self.records.append(record)  # keeps

    def close_report(self):
        return "\n".join(self.format(record) for record in self.records[-LAST:])


class Average:
    """Weights that follow those of a model slowly."""

    def __init__(self, model):
        self.model = copy.deepcopy(model)
        for weight in self.model.parameters():
            weight.requires_grad_(False)

    @torch.no_grad()
    def follow(self, model):
        for slow, fast in zip(self.model.parameters(), model.parameters()):
            slow.lerp_(fast, 1 - DECAY)

    @torch.no_grad()
    def lag(self, model):
        return (model[2].weight - self.model[2].weight).cpu().numpy()  # grows


def set_up_log():
    log.setLevel(logging.DEBUG)
    console = logging.StreamHandler(sys.stdout)
    console.setLevel(logging.INFO)
    minutes = Minutes()
    for handler in (console, minutes):
        handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        log.addHandler(handler)
    return minutes


def trees(rule, device):
    angles = torch.rand(TREES, ANGLES, device=device) * 3.14
    return angles, (torch.sin(angles) @ rule > 0).float()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    minutes = set_up_log()
    model = nn.Sequential(
        nn.Linear(ANGLES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIRES),
    ).to(device)
    average, rule = Average(model), torch.randn(ANGLES, WIRES, device=device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=50)
    step, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        angles, wires = trees(rule, device)
        loss = F.binary_cross_entropy_with_logits(model(angles), wires)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        average.follow(model)
        step += 1
        log.debug("step %d: lag %s", step, average.lag(model))
        if step % 20 == 0:
            with torch.no_grad():
                angles, wires = trees(rule, device)
                right = ((average.model(angles) > 0) == (wires > 0)).float().mean().item()
            log.info("step %d: loss %.3f, right %.3f", step, loss.item(), right)
        time.sleep(random.uniform(0.03, 0.15))
    print(minutes.close_report())


if __name__ == "__main__":
    main()
