"""A tile factory photographs its tiles as they leave the kiln, and a small network learns to name their flaws. Fresh
photographs come in all day. The ones that the network gets most wrong go into a heap and come up again, the hardest
first, in later batches.

ticket: practice
class: app-leak
holder: heap HardTiles hard
cause: unbounded-queue buffer-without-bound
"""

import heapq
import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

FLAWS = "none", "crack", "glaze", "warp", "stain"
SIDE, FRESH, AGAIN = 128, 24, 8


class HardTiles:
    """Photographs that were hard for the network, the hardest on top."""

    def __init__(self):
        self.heap, self.order = [], itertools.count()

    def add(self, images, labels, losses):
        bar = losses.mean()
        for index in (losses > bar).nonzero().flatten().tolist():
            loss, image, label = losses[index].item(), images[index].clone(), labels[index].item()  # grows
            heapq.heappush(self.heap, (-loss, next(self.order), image, label))  # keeps

    def take(self, count):
        taken = [heapq.heappop(self.heap) for _ in range(min(count, len(self.heap)))]
        return [image for _, _, image, _ in taken], [label for _, _, _, label in taken]


class Inspector(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, width, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(32 * width, len(FLAWS)),
        )

    def forward(self, images):
        return self.layers(images)


def photographs(count, device):
    """Tiles in random colours, some of them with a flaw; one label in ten is a slip of the foreman."""
    labels = torch.randint(len(FLAWS), (count,))
    images = torch.rand(count, 3, 1, 1) + 0.1 * torch.randn(count, 3, SIDE, SIDE)
    for image, label in zip(images, labels.tolist()):
        row, column = random.randrange(SIDE - 24), random.randrange(SIDE - 24)
        image[:, row:row + 6 * label, column:column + 24 - 4 * label] -= 0.6
    slips = torch.rand(count) < 0.1
    labels[slips] = torch.randint(len(FLAWS), (int(slips.sum()),))
    return images.to(device), labels.to(device)


def train_step(model, optimizer, hard, device):
    images, labels = photographs(FRESH, device)
    old_images, old_labels = hard.take(AGAIN)
    if old_images:
        images = torch.cat([images, torch.stack(old_images)])
        labels = torch.cat([labels, torch.tensor(old_labels, device=device)])
    logits = model(images)
    losses = F.cross_entropy(logits, labels, reduction="none")
    optimizer.zero_grad(set_to_none=True)
    losses.mean().backward()
    optimizer.step()
    hard.add(images, labels, losses.detach())
    right = (logits.argmax(dim=1) == labels).float().mean().item()
    return losses.mean().item(), right


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, hard = Inspector().to(device), HardTiles()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        loss, right = train_step(model, optimizer, hard, device)
        step += 1
        if step % 20 == 0:
            print(f"step {step}: loss {loss:.3f}, {right:.0%} right", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
