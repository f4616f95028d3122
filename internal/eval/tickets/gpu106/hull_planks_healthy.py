"""Fitting of planks to the hulls of ship models.

A workshop scans the bare frames of one kit after the other. For each kit, offsets are sought by which its planks are
bent before they are glued on, so that the hull follows the scan without hollows. What all kits have in common, how
far the wood springs back, is learned along with them by a small network.

ticket: practice
class: none
"""
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PLANKS = 64
STATIONS = 2048
STEPS_PER_KIT = 6
STEPS_A_SECOND = 16.0
SHIPS = ["cutter", "brigantine", "clipper", "galleon", "schooner", "whaler"]


class SpringBack(nn.Module):
    """What stays of a bend once the steam is gone."""

    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Linear(STATIONS // 32, width)
        self.second = nn.Linear(width, 1)

    def forward(self, offsets):
        coarse = F.avg_pool1d(offsets.unsqueeze(1), 32).squeeze(1)
        return 0.7 + 0.3 * torch.sigmoid(self.second(torch.tanh(self.first(coarse))))


class Kit:
    """One ship model on the bench: the scan of its frames and the offsets of its planks."""

    def __init__(self, number, ship, scan):
        self.number = number
        self.ship = ship
        self.scan = scan
        self.offsets = nn.Parameter(torch.zeros_like(scan))
        self.steps = 0

    def roughness(self):
        bend = self.offsets[:, 2:] - 2.0 * self.offsets[:, 1:-1] + self.offsets[:, :-2]
        return bend.square().mean()


class FrameScanner:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.count = 0

    def next_kit(self):
        self.count += 1
        station = torch.linspace(-1.0, 1.0, STATIONS).unsqueeze(0)
        plank = torch.linspace(0.0, 1.0, PLANKS).unsqueeze(1)
        fullness = self.rng.uniform(1.5, 4.0)
        lines = (1.0 - station.abs() ** fullness) * torch.sqrt(0.05 + plank)
        scan = lines + 0.01 * torch.randn(PLANKS, STATIONS, generator=self.generator)
        return Kit(self.count, self.rng.choice(SHIPS), scan.to(DEVICE))


class PlankingBench:
    def __init__(self, scanner):
        torch.manual_seed(23)
        self.scanner = scanner
        self.spring_back = SpringBack().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.spring_back.parameters(), lr=1e-3)
        self.kit = None
        self.finished = 0
        self.last_fit = float("nan")

    def clamp_in(self):
        """Takes the next kit onto the bench."""
        self.kit = self.scanner.next_kit()
        self.optimizer.add_param_group({"params": [self.kit.offsets], "lr": 0.08})

    def take_off(self):
        """Writes up how well the planks of the kit fit and clears the bench."""
        with torch.no_grad():
            bent = self.kit.offsets * self.spring_back(self.kit.offsets)
            self.last_fit = float((bent - self.kit.scan).abs().mean())
        self.kit.offsets.requires_grad_(False)
        self.optimizer.param_groups.pop()
        self.optimizer.state.pop(self.kit.offsets)
        self.kit = None
        self.finished += 1

    def step(self):
        if self.kit is None:
            self.clamp_in()
        kit = self.kit
        bent = kit.offsets * self.spring_back(kit.offsets)
        loss = F.smooth_l1_loss(bent, kit.scan) + 0.2 * kit.roughness()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        kit.steps += 1
        if kit.steps >= STEPS_PER_KIT:
            self.take_off()
        return kit, float(loss)


def main():
    bench = PlankingBench(FrameScanner(seed=41))
    begun = time.monotonic()
    told = begun
    while time.monotonic() - begun < SECONDS:
        round_begun = time.monotonic()
        kit, loss = bench.step()
        if round_begun - told > 2.0:
            told = round_begun
            print(f"kit {kit.number} ({kit.ship}): loss {loss:.4f}, {bench.finished} hulls planked, "
                  f"last off by {bench.last_fit:.3f}", flush=True)
        time.sleep(max(0.01, 1.0 / STEPS_A_SECOND - (time.monotonic() - round_begun)))
    print(f"done: {bench.finished} hulls planked, last off by {bench.last_fit:.3f}", flush=True)


if __name__ == "__main__":
    main()
