"""A network completes clouds of points. Meters average the distances of an epoch, for the log; some of them are not
part of the loss. A meter sums up numbers.

ticket: microsoft/SpareNet#12
class: none
"""

import os
import time

import torch
from torch import nn


class AverageMeter:
    """Averages of some values that belong together."""

    def __init__(self, names):
        self.names = names
        self.reset()

    def reset(self):
        self._sum = [0] * len(self.names)
        self._count = 0

    def update(self, values):
        self._count += 1
        self._sum = [total + value.item() for total, value in zip(self._sum, values)]

    def averages(self):
        return {name: total / max(self._count, 1) for name, total in zip(self.names, self._sum)}


class Completion(nn.Module):
    """Folds a grid of points into the shape that a part of it was given of."""

    def __init__(self, points=384, width=160):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, width))
        self.coarse = nn.Linear(width, points * 3)
        self.fine = nn.Sequential(nn.Linear(width + 3, width), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, partial):
        code = self.encode(partial).amax(1)
        coarse = self.coarse(code).unflatten(1, (-1, 3))
        wide = code[:, None].expand(-1, coarse.shape[1], -1)
        return coarse, coarse + self.fine(torch.cat([wide, coarse], -1))


def chamfer(a, b):
    distances = torch.cdist(a, b)
    return distances.amin(1).mean() + distances.amin(2).mean()


def shapes(batch, points, device):
    axes = torch.rand(batch, 1, 3, device=device) + 0.5
    return nn.functional.normalize(torch.randn(batch, points, 3, device=device), dim=-1) * axes


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Completion().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    meter, step = AverageMeter(["coarse", "fine", "symmetry"]), 0
    while time.time() < end:
        whole = shapes(6, 384, device)
        partial = whole[:, torch.randperm(384, device=device)[:128]]
        coarse, fine = model(partial)
        losses = chamfer(coarse, whole), chamfer(fine, whole)
        symmetry = chamfer(fine, fine * torch.tensor([-1.0, 1, 1], device=device))
        optimizer.zero_grad()
        (losses[0] + losses[1]).backward()
        optimizer.step()
        meter.update([*losses, symmetry])
        step += 1
        if step % 40 == 0:
            print(step, *(f"{name} {value:.4f}" for name, value in meter.averages().items()), flush=True)
        if step % 5000 == 0:
            meter.reset()
        time.sleep(0.3)


if __name__ == "__main__":
    main()
