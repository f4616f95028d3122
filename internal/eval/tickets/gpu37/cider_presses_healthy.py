"""Predicts how sour a cider will be from the spectrum of the must. All presses share a trunk, which learns on and on;
each lot of apples gets an adapter, which has an optimizer to itself, and is trained along with the trunk while the lot
is being pressed. The lot is then bottled, its error is printed, and the next lot begins with a new adapter.

ticket: practice
class: none
"""

import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BANDS, WIDTH, INSIDE, MUSTS = 400, 256, 768, 64


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Sequential(nn.Linear(BANDS, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU())
        self.leave = nn.Linear(WIDTH, 1)

    def forward(self, spectra, adapter):
        return self.leave(adapter(self.enter(spectra))).squeeze(1)


class Adapter(nn.Module):
    """Adds to what comes in; at the start it adds nothing."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(WIDTH, INSIDE), nn.Linear(INSIDE, WIDTH)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, hidden):
        return hidden + self.up(F.gelu(self.down(hidden)))


class Lot:
    def __init__(self, sort, device):
        self.device = device
        self.sort = sort + 0.3 * torch.randn(BANDS, device=device)

    def sample(self):
        spectra = torch.randn(MUSTS, BANDS, device=self.device)
        return spectra, torch.tanh(spectra @ self.sort / BANDS ** 0.5)


def press(trunk, optimizer, lot, steps, end):
    """Trains with the lot, and gives its error on musts that were not trained with."""
    adapter = Adapter().to(lot.device)
    adapting = torch.optim.AdamW(adapter.parameters(), lr=2e-3, weight_decay=0.01)
    for _ in range(steps):
        if time.time() > end:
            break
        spectra, sour = lot.sample()
        loss = F.smooth_l1_loss(trunk(spectra, adapter), sour)
        optimizer.zero_grad(set_to_none=True)
        adapting.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        adapting.step()
        time.sleep(random.uniform(0.02, 0.06))
    with torch.no_grad():
        spectra, sour = lot.sample()
        return (trunk(spectra, adapter) - sour).abs().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    trunk = Trunk().to(device)
    optimizer = torch.optim.AdamW(trunk.parameters(), lr=5e-4, weight_decay=0.01)
    sorts = [torch.randn(BANDS, device=device) for _ in range(5)]
    error = None
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number in itertools.count(1):
        if time.time() > end:
            break
        lot = Lot(random.choice(sorts), device)
        last = press(trunk, optimizer, lot, random.randint(4, 10), end)
        error = last if error is None else 0.8 * error + 0.2 * last
        if number % 5 == 0:
            print(f"lot {number}: error {last:.3f}, of late {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
