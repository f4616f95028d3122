"""Outlines of moss cushions are learned from photographs of stones. Beside the loss we track how rough the predicted
outlines are (their total variation), to see whether training makes them smoother. The tracker shows a moving mean of
each value, as the single values jump about too much.

ticket: practice
class: app-leak
holder: means Tracker tracker
cause: uncut-autograd-graph
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, BATCH = 128, 8
DECAY = 0.98


class Tracker:
    def __init__(self):
        self.means = {}
        self.updates = 0

    def update(self, **values):
        for name, value in values.items():
            self.means[name] = DECAY * self.means.get(name, value) + (1 - DECAY) * value  # keeps
        self.updates += 1

    def __str__(self):
        return ", ".join(f"{name} {float(mean):.4f}" for name, mean in self.means.items())


class Outliner(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.down = nn.Conv2d(3, width, 5, stride=2, padding=2)
        self.middle = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.ConvTranspose2d(width, 1, 4, stride=2, padding=1)

    def forward(self, photos):
        hidden = F.relu(self.down(photos))
        return self.up(F.relu(self.middle(hidden)))


def stones(device):
    """Photographs of stones, and where there is moss on them."""
    rough = torch.randn(BATCH, 1, SIDE // 16, SIDE // 16, device=device)
    moss = (F.interpolate(rough, size=(SIDE, SIDE), mode="bilinear", align_corners=False) > 0.2).float()
    tint = torch.tensor([0.2, 0.7, 0.1], device=device).view(1, 3, 1, 1)
    return moss * tint + 0.4 * torch.rand(BATCH, 3, SIDE, SIDE, device=device), moss


def roughness(logits):
    cover = torch.sigmoid(logits)  # grows
    across = (cover[..., 1:] - cover[..., :-1]).abs().mean()  # grows
    down = (cover[..., 1:, :] - cover[..., :-1, :]).abs().mean()  # grows
    return across + down


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, tracker = Outliner().to(device), Tracker()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        photos, moss = stones(device)
        logits = model(photos)
        loss = F.binary_cross_entropy_with_logits(logits, moss)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        tracker.update(loss=loss.item(), roughness=roughness(logits))
        if tracker.updates % 10 == 0:
            print(f"step {tracker.updates}: {tracker}", flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
