"""A detector is trained and evaluated every few seconds. A tracker of torchmetrics starts a new metric for each
evaluation; the metric is exact and keeps every score that it was given, and so does the tracker.

ticket: Lightning-AI/torchmetrics#1949
class: app-leak
holder: tracker preds target
cause: results-kept snapshots-kept
"""

import logging
import os
import random
import time

import torch
from torch import nn
from torchmetrics.classification import BinaryAveragePrecision
from torchmetrics.wrappers import MetricTracker

log = logging.getLogger("detector")


class Detector(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(40, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.body(x))[..., 0]


class Experiment:
    def __init__(self, device):
        self.device, self.steps = device, 0
        self.model = Detector().to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.tracker = MetricTracker(BinaryAveragePrecision(), maximize=True).to(device)

    def anchors(self, count):
        x = torch.randn(count, 40, device=self.device)
        return x, (x[:, :6].sum(1) > 2.5).long()

    def step(self):
        x, y = self.anchors(512)
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(x), y.float())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    @torch.no_grad()
    def evaluate(self):
        self.tracker.increment()  # keeps
        for _ in range(random.randint(25, 40)):
            x, y = self.anchors(random.randint(12000, 24000))
            scores = torch.sigmoid(self.model(x))  # grows
            self.tracker.update(scores, y)
            time.sleep(0.02)
        value = self.tracker.compute().item()
        log.info("step %d: average precision %.4f in evaluation %d", self.steps, value, self.tracker.n_steps)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    experiment = Experiment("cuda" if torch.cuda.is_available() else "cpu")
    while time.time() < end:
        stop = min(end, time.time() + random.uniform(1.5, 4.0))
        while time.time() < stop:
            experiment.step()
            time.sleep(0.04)
        experiment.evaluate()


if __name__ == "__main__":
    main()
