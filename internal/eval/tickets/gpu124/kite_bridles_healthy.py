"""Bridle trim for racing kites.

A small network learns which bridle lengths keep the line pull of a kite near its aim in gusty wind. Between training
steps the trim is judged on a fleet of kites in fresh wind, and the smoothed judgement sets how bold the learning is.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(12)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FLEET = 1024
BATCH = 256
ROUNDS_A_SECOND = 5


class WindField:
    """Gusts seen by the kites: speed, shear, angle, and the state of the sail."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.base = 11.0

    def sample(self, count):
        noise = torch.randn(count, 8, generator=self.generator)
        self.base += 0.05 * float(torch.randn(1, generator=self.generator))
        self.base = min(max(self.base, 6.0), 18.0)
        noise[:, 0] = self.base + 2.0 * noise[:, 0]
        noise[:, 1] = 0.3 * noise[:, 1]
        return noise.to(DEVICE)


class BridleNet(nn.Module):
    """Lengths of the three bridle legs from what the kite feels."""

    def __init__(self, hidden=128):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([0.1] + [1.0] * 7), requires_grad=False)
        self.gusts = nn.Linear(8, hidden)
        self.shape = nn.Linear(hidden, hidden)
        self.legs = nn.Linear(hidden, 3)

    def forward(self, wind):
        feel = torch.tanh(self.gusts(wind * self.scale))
        form = torch.tanh(self.shape(feel))
        return self.legs(form)


def line_pull(wind, legs):
    """Pull on the line for given wind and bridle legs, in newtons over a hundred."""
    attack = 0.25 + 0.1 * (legs[:, 0] - legs[:, 2]) + 0.02 * wind[:, 1]
    bow = 1.0 + 0.1 * legs[:, 1]
    return 0.01 * wind[:, 0] ** 2 * attack * bow


class Trimmer:
    """Trains the network, and keeps the judgement of the fleet."""

    def __init__(self, seed):
        self.wind = WindField(seed)
        self.net = BridleNet().to(DEVICE)
        self.optimizer = torch.optim.Adam([p for p in self.net.parameters() if p.requires_grad], lr=1e-3)
        self.aim = 0.6
        self.drag_average = torch.zeros((), device=DEVICE)
        self.steps = 0

    def miss(self, wind):
        legs = self.net(wind)
        pull = line_pull(wind, legs)
        return ((pull - self.aim) ** 2).mean() + 1e-3 * legs.pow(2).mean()

    def train(self):
        loss = self.miss(self.wind.sample(BATCH))
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    def judge(self):
        """Fly the whole fleet once, and blend what it shows into the average."""
        flown = self.miss(self.wind.sample(FLEET))
        self.drag_average = 0.97 * self.drag_average + 0.03 * flown.detach()
        return flown.item()

    def set_boldness(self):
        """Bold steps while the fleet is far off, small ones near the aim."""
        rate = 3e-4 + 2e-3 * min(1.0, self.drag_average.item())
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate


def main():
    trimmer = Trimmer(seed=5)
    started = time.monotonic()
    reported = started
    rate = 1e-3
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        for _ in range(3):
            loss = trimmer.train()
        flown = trimmer.judge()
        if trimmer.steps % 15 == 0:
            rate = trimmer.set_boldness()
        if begun - reported > 3.0:
            reported = begun
            print(f"step {trimmer.steps}: loss {loss:.4f}, fleet {flown:.4f}, rate {rate:.5f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    print(f"trimmed after {trimmer.steps} steps, average {trimmer.drag_average.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
