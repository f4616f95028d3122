"""Tells moths apart by their wings. As there are few photographs, pictures are mixed: each batch is blended with one of
the last few (mixup, but with partners from other batches, which gave a bit more). Everything that makes the batches is
a chain of generators.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

KINDS, SIDE, BATCH = 12, 96, 12


def photographs(device):
    """Batches of wings: a kind has its own number and slant of stripes, and its own colour."""
    line = torch.linspace(0, 1, SIDE, device=device)
    colours = torch.rand(KINDS, 3, device=device)
    while True:
        kinds = torch.randint(KINDS, (BATCH,), device=device)
        slant = (kinds % 4).float()[:, None, None] * 0.5
        stripes = torch.sin((4 + kinds.float())[:, None, None] * 6 * (line[None, :, None] + slant * line))
        noise = torch.randn(BATCH, 3, SIDE, SIDE, device=device)
        images = stripes[:, None] * colours[kinds][:, :, None, None] + 0.4 * noise
        yield images, F.one_hot(kinds, KINDS).float()


def flipped(batches):
    for images, kinds in batches:
        if random.random() < 0.5:
            images = images.flip(-1)
        yield images, kinds


def mixed(batches, strength=0.4):
    """Blends each batch with an earlier one."""
    earlier = deque(maxlen=12)
    for images, kinds in batches:
        earlier.append((images, kinds))
        partner, partner_kinds = random.choice(earlier)
        share = random.betavariate(strength, strength)
        share = max(share, 1 - share)
        yield share * images + (1 - share) * partner, share * kinds + (1 - share) * partner_kinds


def network():
    def block(before, after):
        return nn.Sequential(nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after), nn.ReLU())

    return nn.Sequential(block(3, 12), block(12, 24), block(24, 48), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(48, KINDS))


def train(model, stream, until):
    """Trains until it is late; yields now and then how it goes."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    total, steps = 0.0, 0
    for images, kinds in stream:
        loss = -(kinds * model(images).log_softmax(1)).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        steps += 1
        if steps % 10 == 0:
            yield steps, total / 10
            total = 0.0
        if time.time() > until:
            return
        time.sleep(random.uniform(0.05, 0.3))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    stream = mixed(flipped(photographs(device)))
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    for step, loss in train(network().to(device), stream, until):
        print("step", step, "loss", round(loss, 3), flush=True)


if __name__ == "__main__":
    main()
