"""Trains a generator of glaze textures against a critic, with few photographs. The critic soon knows them by heart, so
a gauge compares how it rates photographs from the training set and held-out ones; the wider the gap (a moving
average), the more the images are shifted and dimmed before the critic sees them. An EMA of the generator makes the
samples.

ticket: practice
class: none
"""

import copy
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, NOISE, BATCH = 32, 64, 16
PHOTOGRAPHS, HELD_OUT = 96, 32


def generator():
    return nn.Sequential(nn.Linear(NOISE, 32 * 8 * 8), nn.Unflatten(1, (32, 8, 8)), nn.Upsample(scale_factor=2),
                         nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2),
                         nn.Conv2d(32, 3, 3, padding=1), nn.Tanh())


def critic():
    return nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv2d(24, 32, 3, 2, padding=1),
                         nn.LeakyReLU(0.2), nn.Conv2d(32, 48, 3, 2, padding=1), nn.LeakyReLU(0.2), nn.Flatten(),
                         nn.Linear(48 * 8 * 8, 1))


class Gauge:
    """How much better the critic knows the training set, and how strongly to augment for it."""

    def __init__(self, target=0.6):
        self.target, self.strength, self.gap = target, 0.0, 0.0

    def update(self, known, held_out):
        self.gap = 0.95 * self.gap + 0.05 * (known - held_out)
        self.strength += 0.01 if self.gap > self.target else -0.01
        self.strength = min(max(self.strength, 0.0), 0.8)

    def augment(self, images):
        if random.random() > self.strength:
            return images
        shift = random.randint(-4, 4), random.randint(-4, 4)
        return torch.roll(images, shift, dims=(2, 3)) * random.uniform(0.7, 1.0)


@torch.no_grad()
def follow(average, model, decay=0.99):
    for slow, fast in zip(average.parameters(), model.parameters()):
        slow.lerp_(fast, 1 - decay)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    photographs = torch.rand(PHOTOGRAPHS, 3, SIDE, SIDE, device=device) * 2 - 1
    held_out = torch.rand(HELD_OUT, 3, SIDE, SIDE, device=device) * 2 - 1
    made, judge, gauge = generator().to(device), critic().to(device), Gauge()
    average = copy.deepcopy(made).requires_grad_(False)
    made_step = torch.optim.Adam(made.parameters(), lr=2e-4, betas=(0.5, 0.99))
    judge_step = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.99))
    steps, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        real = photographs[torch.randint(PHOTOGRAPHS, (BATCH,), device=device)]
        fake = made(torch.randn(BATCH, NOISE, device=device))
        judge_step.zero_grad()
        on_real, on_fake = judge(gauge.augment(real)), judge(gauge.augment(fake.detach()))
        (F.softplus(-on_real).mean() + F.softplus(on_fake).mean()).backward()
        judge_step.step()
        made_step.zero_grad()
        made_loss = F.softplus(-judge(gauge.augment(fake))).mean()
        made_loss.backward()
        made_step.step()
        follow(average, made)
        steps += 1
        if steps % 4 == 0:
            with torch.no_grad():
                rating = judge(held_out).mean()
            gauge.update(on_real.detach().mean(), rating)
        if steps % 40 == 0:
            with torch.no_grad():
                contrast = average(torch.randn(4, NOISE, device=device)).std().item()
            print(f"step {steps}: generator {made_loss.item():.3f}, gap {float(gauge.gap):.3f}, strength "
                  f"{gauge.strength:.2f}, contrast {contrast:.3f}", flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
