"""A network learns from pictures of the weather radar where hail will fall. The average
precision after every step of the training comes from a metric as the libraries have them: called with a batch, it gives
the value of the batch, and counts the batch into the value of all.

ticket: Lightning-AI/torchmetrics#3294
class: app-leak
holder: preds target
cause: results-kept buffer-without-bound
"""

import copy
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, BATCHES = 80, (6, 8, 10)


class Metric:
    """States that have a value to begin with, and can be set back to it."""

    def __init__(self):
        self._defaults = {}

    def add_state(self, name, default):
        self._defaults[name] = default
        setattr(self, name, copy.deepcopy(default))

    def reset(self):
        for name, default in self._defaults.items():
            setattr(self, name, copy.deepcopy(default))

    def __call__(self, *batch):
        self.update(*batch)
        states = {name: getattr(self, name) for name in self._defaults}
        self.reset()
        self.update(*batch)
        value = self.compute()
        self.__dict__.update(states)
        return value


class AveragePrecision(Metric):
    def __init__(self, device):
        super().__init__()
        self.device = device
        self.add_state("preds", [])
        self.add_state("target", [])

    def update(self, preds, target):
        self.preds.append(preds.detach().flatten())  # keeps
        self.target.append(target.flatten())

    def compute(self):
        preds, target = torch.cat(self.preds), torch.cat(self.target)
        hits = target[preds.argsort(descending=True)].float()
        precision = hits.cumsum(0) / torch.arange(1, len(hits) + 1, device=self.device)
        return (precision * hits).sum() / hits.sum().clamp(min=1)


def radar(size, device):
    """Echoes of some cells, three heights of them, and where hail will come of them."""
    echoes = F.interpolate(torch.rand(size, 3, 8, 8, device=device), size=SIDE, mode="bilinear", align_corners=False)
    strong = echoes.mean(1, keepdim=True) + 0.3 * (echoes[:, 2:] - echoes[:, :1])
    return echoes + 0.05 * torch.randn_like(echoes), strong + 0.05 * torch.randn_like(strong) > 0.68


class Training:
    def __init__(self, device):
        self.device = device
        self.network = nn.Sequential(nn.Conv2d(3, 12, 5, padding=2), nn.SiLU(), nn.Conv2d(12, 12, 5, padding=2),
                                     nn.SiLU(), nn.Conv2d(12, 1, 1)).to(device)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=2e-3)
        self.precision = AveragePrecision(device)

    def step(self, echoes, hail):
        logits = self.network(echoes)
        loss = F.binary_cross_entropy_with_logits(logits, hail.float())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        chances = torch.sigmoid(logits)  # grows
        return loss.item(), self.precision(chances, hail).item()


def main():
    torch.set_num_threads(1)
    training, steps = Training("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss, precision = training.step(*radar(random.choice(BATCHES), training.device))
        steps += 1
        if steps % 40 == 0:
            print("step", steps, "loss", round(loss, 4), "precision", round(precision, 3), flush=True)
        time.sleep(random.uniform(0.005, 0.04))


if __name__ == "__main__":
    main()
