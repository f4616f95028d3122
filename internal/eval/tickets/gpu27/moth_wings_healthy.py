"""A light trap sends crops of moths, and a small network learns their species. For the entomologist, who looks at
them in the morning, the crops that it takes most surely for another species are put on a contact sheet. The sheet
shows the 24 worst, and is drawn again every fifteen batches.

ticket: practice
class: none
"""

import heapq
import itertools
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SPECIES, SIDE, BATCH = 40, 112, 16
COLUMNS, ROWS = 6, 4


class Sheet:
    """The crops with the highest losses, the worst first."""

    def __init__(self):
        self.worst = []
        self.numbers = itertools.count()

    def add(self, loss, species, crop):
        entry = loss, next(self.numbers), species, crop
        if len(self.worst) < COLUMNS * ROWS:
            heapq.heappush(self.worst, entry)
        else:
            heapq.heappushpop(self.worst, entry)

    def draw(self):
        """One picture of all, and the species that are on it most."""
        entries = heapq.nlargest(COLUMNS * ROWS, self.worst)
        rows = [
            torch.cat([crop for _, _, _, crop in entries[start:start + COLUMNS]], dim=-1)
            for start in range(0, len(entries) - COLUMNS + 1, COLUMNS)
        ]
        picture = (255 * torch.cat(rows, dim=-2).clamp(0, 1)).byte().cpu()
        return picture, entries[0][0], {species for _, _, species, _ in entries}


def network():
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=4), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 48, 3, stride=2), nn.BatchNorm2d(48), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, SPECIES),
    )


def catch(device):
    """A batch of crops: pale wings before the dark, and which moth they belong to."""
    species = torch.randint(SPECIES, (BATCH,))
    crops = 0.2 * torch.rand(BATCH, 3, SIDE, SIDE)
    crops[:, :, 30:80, 20:90] += (species / SPECIES + 0.15 * torch.randn(BATCH)).view(-1, 1, 1, 1)
    return crops.to(device), species.to(device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, sheet, batch = network().to(device), Sheet(), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        crops, species = catch(device)
        scores = model(crops)
        losses = F.cross_entropy(scores, species, reduction="none")
        optimizer.zero_grad(set_to_none=True)
        losses.mean().backward()
        optimizer.step()

        mistaken = (scores.argmax(dim=1) != species).nonzero().flatten().tolist()
        for place in mistaken:
            crop = crops[place].clone()
            sheet.add(losses[place].item(), species[place].item(), crop)
        batch += 1
        if batch % 15 == 0:
            picture, loss, names = sheet.draw()
            print(f"batch {batch}: sheet {tuple(picture.shape)}, {len(names)} species, worst {loss:.2f}", flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
