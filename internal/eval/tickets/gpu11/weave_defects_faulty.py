"""A network learns to see faults in woven cloth, from pictures that a camera over the loom takes without an end. The
pictures with which it has most trouble go onto a heap, and the hardest of them come back in later batches.

ticket: practice
class: app-leak
holder: hardest
cause: buffer-without-bound results-kept
"""

import heapq
import itertools
import os
import random
import time

import torch
from torch import nn

SIDE, BATCH, AGAIN = 96, 12, 4


class Loom:
    """Cloth of two threads; some pieces have a missing thread, a knot or a stain."""

    def __init__(self, device):
        self.device = device
        line = torch.arange(SIDE, device=device)
        self.across, self.along = line[None, :], line[:, None]

    def piece(self):
        fine = random.choice((4, 6, 8))
        cloth = 0.5 + 0.25 * (torch.sin(self.across * 6.28 / fine) + torch.sin(self.along * 6.28 / fine))
        fault, at = random.choice((0, 0, 1, 2, 3)), random.randrange(12, SIDE - 12)
        if fault == 1:
            cloth[:, at:at + 3] *= 0.3
        elif fault == 2:
            cloth += torch.exp(-((self.across - at) ** 2 + (self.along - SIDE // 2) ** 2) / 20)
        elif fault == 3:
            cloth *= 1 - 0.3 * (((self.across - at) ** 2 + (self.along - at) ** 2) < 200).float()
        colours = torch.rand(3, 1, 1, device=self.device)
        return colours * cloth + 0.05 * torch.randn(3, SIDE, SIDE, device=self.device), fault

    def pieces(self, count):
        pictures, faults = zip(*[self.piece() for _ in range(count)])
        return torch.stack(pictures), torch.tensor(faults, device=self.device)


class HardPieces:
    """What the network finds hard."""

    def __init__(self):
        self.hardest, self.number = [], itertools.count()

    def add(self, losses, pictures, faults):
        worst = losses.detach().topk(len(losses) // 2)
        for loss, place in zip(worst.values.tolist(), worst.indices.tolist()):
            picture = pictures[place].clone()  # grows
            heapq.heappush(self.hardest, (-loss, next(self.number), picture, int(faults[place])))  # keeps

    def draw(self, count):
        """The hardest ones; as they get learnt, their place on the heap is given to what is hard now."""
        drawn = [heapq.heappop(self.hardest) for _ in range(min(count, len(self.hardest)))]
        return [(picture, fault) for _, _, picture, fault in drawn]


def network():
    layers, inputs = [], 3
    for width in (12, 24, 48):
        layers += [nn.Conv2d(inputs, width, 5, stride=2, padding=2), nn.BatchNorm2d(width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 4))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loom, hard, net = Loom(device), HardPieces(), network().to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    end, step, level = time.time() + float(os.environ.get("SECONDS", "45")), 0, 1.4
    while time.time() < end:
        pictures, faults = loom.pieces(BATCH + random.choice((0, 4, 8)))
        for picture, fault in hard.draw(AGAIN):
            pictures = torch.cat([pictures, picture[None]])
            faults = torch.cat([faults, faults.new_tensor([fault])])
        losses = nn.functional.cross_entropy(net(pictures), faults, reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        hard.add(losses, pictures, faults)
        level, step = 0.95 * level + 0.05 * float(losses.mean()), step + 1
        if step % 20 == 0:
            print("step", step, "loss", round(level, 3), "hardest", round(-hard.hardest[0][0], 2), flush=True)
        time.sleep(random.uniform(0.02, 0.2))


if __name__ == "__main__":
    main()
