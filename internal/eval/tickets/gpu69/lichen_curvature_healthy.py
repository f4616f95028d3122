"""How sharply does the loss of the lichen classifier bend around each photo? For every batch it takes the gradient by
the photos and its product with a random direction: the curvature along that direction. Between the measurements the
classifier is trained on, so the printed figures show whether it gets smoother.

ticket: pytorch/pytorch#7343
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SPECIES, SIDE, BATCH = 12, 64, 16
TRAIN_STEPS = 2


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4, padding=2),
            nn.SiLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.SiLU(),
        )
        self.head = nn.Linear(32, SPECIES)

    def forward(self, images):
        return self.head(self.features(images).mean(dim=(2, 3)))


def photos(device):
    """Each species has its own tint and grain."""
    labels = torch.randint(SPECIES, (BATCH,), device=device)
    tint = torch.stack([labels % 3, labels // 3 % 2, labels // 6], dim=1).float()
    grain = torch.randn(BATCH, 3, SIDE, SIDE, device=device)
    return tint.view(BATCH, 3, 1, 1) + 0.5 * grain, labels


def curvature(model, images, labels):
    """Mean curvature of the loss along one random direction for each photo."""
    images = images.clone().requires_grad_()
    loss = F.cross_entropy(model(images), labels, reduction="sum")
    gradient, = torch.autograd.grad(loss, images, create_graph=True)
    direction = F.normalize(torch.randn_like(images).flatten(1)).view_as(images)
    slope = (gradient * direction).sum()
    product, = torch.autograd.grad(slope, images)
    return (product * direction).flatten(1).sum(dim=1).mean().item()


def train(model, optimizer, device):
    for _ in range(TRAIN_STEPS):
        images, labels = photos(device)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Classifier().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    batches, mean = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = train(model, optimizer, device)
        value = curvature(model, *photos(device))
        batches += 1
        mean += (value - mean) / min(batches, 50)
        if batches % 25 == 0:
            print(f"batch {batches}: loss {loss:.3f}, curvature {mean:.6f}", flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
