"""Finds ice floes in radar pictures of the sea, with a small network that is trained here. After some steps the network
is tested on pictures that it is not trained on, and the history of both errors is kept, for the curves and to see
whether the training still gets anywhere. The history has one entry a test, which is only a number.

ticket: practice
class: app-leak
holder: history valid
cause: uncut-autograd-graph results-kept
"""

import dataclasses
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, BATCH, BETWEEN = 128, 2, 4


class FloeNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.first = nn.Conv2d(1, width, 5, padding=2)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, pictures):
        seen = F.silu(self.first(pictures))  # grows
        seen = F.silu(self.second(seen))  # grows
        return self.last(seen)


@dataclasses.dataclass
class History:
    train: list = dataclasses.field(default_factory=list)
    valid: list = dataclasses.field(default_factory=list)

    def stuck(self, patience=30):
        """Whether none of the last tests was better than the one before them."""
        return len(self.valid) > patience and min(self.valid[-patience:]) >= self.valid[-patience - 1]


def pictures(device):
    """Radar pictures full of speckle, and where there are floes in them."""
    coarse = F.interpolate(torch.randn(BATCH, 1, SIDE // 16, SIDE // 16, device=device), size=SIDE, mode="bilinear",
                           align_corners=False)
    floes = (coarse > 0.2).float()
    speckle = -torch.log(torch.rand(BATCH, 1, SIDE, SIDE, device=device) + 1e-3)
    return (0.3 + floes) * speckle, floes


class Trainer:
    def __init__(self, device):
        self.device, self.model, self.history = device, FloeNet().to(device), History()
        self.optimizer = torch.optim.Adam(self.model.parameters(), 3e-3)
        self.tests = [pictures(device) for _ in range(4)]

    def train_step(self):
        self.model.train()
        seen, floes = pictures(self.device)
        loss = F.binary_cross_entropy_with_logits(self.model(seen), floes)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history.train.append(loss.item())

    def test(self):
        self.model.eval()
        seen, floes = random.choice(self.tests)
        loss = F.binary_cross_entropy_with_logits(self.model(seen), floes)
        self.history.valid.append(loss)  # keeps
        if self.history.stuck():
            for group in self.optimizer.param_groups:
                group["lr"] = max(1e-4, group["lr"] * 0.7)
        return float(loss)


def main():
    torch.set_num_threads(1)
    trainer = Trainer("cuda" if torch.cuda.is_available() else "cpu")
    end, steps, said = time.time() + float(os.environ.get("SECONDS", "45")), 0, time.time()
    while time.time() < end:
        for _ in range(BETWEEN):
            trainer.train_step()
            time.sleep(random.uniform(0.05, 0.2))
        steps += BETWEEN
        error = trainer.test()
        if time.time() - said > 2:
            said = time.time()
            print("step", steps, "train", round(trainer.history.train[-1], 4), "test", round(error, 4), flush=True)


if __name__ == "__main__":
    main()
