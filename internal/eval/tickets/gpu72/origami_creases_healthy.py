"""A small network learns from a large one to name the model that a sheet of creased paper will become. The teacher's
soft answers are wanted twice in a step, for the loss and for the share of agreement, so they are cached for the batch.

ticket: practice
class: none
"""

import functools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

MODELS, SIDE, BATCH, TEMPERATURE = 24, 64, 48, 3.0


def convnet(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 5, stride=2, padding=2), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.Conv2d(2 * width, 4 * width, 3, stride=2, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, MODELS),
    )


class Sheets:
    """Photographs of creased sheets, cut and turned at random for each batch."""

    def __init__(self, count=256):
        self.photos = torch.rand(count, 3, SIDE + 16, SIDE + 16)
        self.labels = torch.randint(MODELS, (count,))

    def batch(self):
        chosen = torch.randint(len(self.photos), (BATCH,))
        top, left = random.randrange(16), random.randrange(16)
        photos = self.photos[chosen, :, top:top + SIDE, left:left + SIDE]
        photos = torch.rot90(photos, random.randrange(4), (2, 3))
        return photos + 0.05 * torch.randn_like(photos), self.labels[chosen]


@functools.lru_cache(maxsize=1)
def soft_targets(teacher, photos):
    """The teacher's probabilities for a batch."""
    with torch.no_grad():
        return F.softmax(teacher(photos) / TEMPERATURE, dim=1)


def distillation_loss(student, teacher, photos, labels):
    logits = student(photos)
    targets = soft_targets(teacher, photos)
    soft = F.kl_div(F.log_softmax(logits / TEMPERATURE, dim=1), targets, reduction="batchmean")
    return 0.3 * F.cross_entropy(logits, labels) + 0.7 * TEMPERATURE ** 2 * soft


@torch.no_grad()
def agreement(student, teacher, photos):
    """The share of sheets for which the student's first choice is the teacher's."""
    return (student(photos).argmax(1) == soft_targets(teacher, photos).argmax(1)).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    teacher, student = convnet(16).to(device).eval(), convnet(6).to(device)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.02, momentum=0.9)
    sheets, step = Sheets(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        photos, labels = sheets.batch()
        photos, labels = photos.to(device), labels.to(device)
        loss = distillation_loss(student, teacher, photos, labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        agreed = agreement(student, teacher, photos)
        step += 1
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}, agreement {agreed:.2f}", flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
