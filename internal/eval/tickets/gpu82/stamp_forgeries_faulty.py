"""Forged stamps are told from real ones. A network learns twenty printing plates from pictures that are turned and
speckled on the GPU, and a second term of the loss pulls the feature map of each stamp towards the latest map of the
same plate, which a memory bank remembers.

ticket: practice
class: app-leak
holder: maps bank PlateBank
cause: cache-without-bound entries-left
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

PLATES, BATCH, SIDE = 20, 48, 32


class Examiner(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Linear(64, PLATES)

    def forward(self, images):
        maps = self.body(images)  # grows
        return maps, self.head(maps.mean(dim=(2, 3)))


class PlateBank:
    """The latest feature map of each plate."""

    def __init__(self):
        self.maps = {}

    def distance(self, plates, maps):
        """How far the maps are from those that the bank has of their plates."""
        latest = [self.maps.get(plate, own) for plate, own in zip(plates, maps.detach())]
        return F.mse_loss(maps, torch.stack(latest))

    def update(self, plates, maps):
        for plate, own in zip(plates, maps.detach()):
            self.maps[plate] = own  # keeps


def augment(images):
    """Turns all stamps by the same quarter turns, mirrors some and adds speckles."""
    images = torch.rot90(images, random.randrange(4), dims=(2, 3))
    mirrored = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
    images = torch.where(mirrored, images.flip(3), images)
    return images + 0.05 * torch.randn_like(images)


def stamps(prints, device):
    plates = torch.randint(PLATES, (BATCH,), device=device)  # grows
    return augment(prints[plates]), plates


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    prints = torch.rand(PLATES, 3, SIDE, SIDE, device=device)
    model, bank = Examiner().to(device), PlateBank()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        images, plates = stamps(prints, device)
        maps, scores = model(images)
        pull = bank.distance(plates, maps)
        loss = F.cross_entropy(scores, plates) + 0.5 * pull
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bank.update(plates, maps)
        step += 1
        if step % 20 == 0:
            right = (scores.argmax(1) == plates).float().mean().item()
            print(f"step {step}: loss {loss.item():.3f}, pull {pull.item():.4f}, right {right:.2f}", flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
