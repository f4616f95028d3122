"""A network learns to tell which lichen covers most of a quadrat. There are few labelled photographs and many without
a label, so beside the labelled batch each step takes one of the others. The network must say the same about such a
photograph whether it is mirrored or not. Both loaders go round again when they come to their end.

ticket: pytorch/pytorch#23900
class: host-growth
holder: cycle plain itertools
cause: buffer-without-bound results-kept
"""

import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SIDE, SPECIES, LABELLED, PLAIN = 72, 6, 96, 60_000


class Quadrats(Dataset):
    """Photographs of quadrats, drawn from the seed of the quadrat: spots in the colour of the species on stone."""

    colours = torch.rand(SPECIES, 3, 1, 1, generator=torch.Generator().manual_seed(0))

    def __init__(self, first, count):
        self.first, self.count = first, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        seed = torch.Generator().manual_seed(self.first + index)
        species = torch.randint(SPECIES, (), generator=seed)
        stone = 0.5 + 0.2 * torch.randn(3, SIDE, SIDE, generator=seed)
        spots = F.interpolate(torch.rand(1, 1, 9, 9, generator=seed), size=(SIDE, SIDE), mode="bilinear")[0]
        return torch.where(spots > 0.5, self.colours[species], stone), species


def network():
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=3), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, SPECIES),
    )


def step(model, optimizer, labelled, plain, device):
    photos, species = (part.to(device) for part in labelled)
    others = plain[0].to(device)
    loss = F.cross_entropy(model(photos), species)
    with torch.no_grad():
        wanted = model(others).softmax(1)
    agreement = F.cross_entropy(model(others.flip(-1)), wanted)
    optimizer.zero_grad()
    (loss + 0.5 * agreement).backward()
    optimizer.step()
    return loss.item(), agreement.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    labelled = itertools.cycle(DataLoader(Quadrats(0, LABELLED), batch_size=16))
    plain = itertools.cycle(DataLoader(Quadrats(LABELLED, PLAIN), batch_size=40, shuffle=True))  # keeps
    end, steps = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        loss, agreement = step(model, optimizer, next(labelled), next(plain), device)  # grows
        steps += 1
        if steps % 20 == 0:
            print(f"step {steps}: loss {loss:.3f}, agreement {agreement:.3f}", flush=True)
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
