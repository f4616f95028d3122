"""Follows the surge along the quays of a harbour.

Every berth has a pressure gauge, a fender load cell and two mooring lines under tension. A small recurrent network
is fitted to a morning of recorded windows, and from then on it runs along with the gauges: at every reading it says
how high the surge will stand at each berth a little later, and each forecast is compared with the gauge when its
time has come. The harbour office reads the line that is printed every few seconds.

ticket: practice
class: app-leak
holder: swell_state
cause: uncut-autograd-graph
"""
import collections
import math
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

BERTHS = 128
CHANNELS = 6
WIDTH = 256
AHEAD = 12
WINDOW = 16
READINGS_A_SECOND = 20


class Gauges:
    """Stands in for the wire from the quay: swell, seiche and noise at every berth."""

    def __init__(self, device):
        self.device = device
        self.phase = torch.rand(BERTHS, 1, device=device) * 2 * math.pi
        self.depth = 0.5 + torch.rand(BERTHS, 1, device=device)
        self.mixing = torch.randn(2, CHANNELS - 1, device=device) * 0.4

    def read(self, number):
        swell = torch.sin(self.phase + number * 0.21)
        seiche = torch.sin(0.5 * self.phase + number * 0.034)
        level = self.depth * (0.6 * swell + 0.9 * seiche)
        others = torch.cat([swell, seiche], dim=1) @ self.mixing
        noise = 0.05 * torch.randn(BERTHS, CHANNELS, device=self.device)
        return torch.cat([level, others], dim=1) + noise


class SurgeNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(CHANNELS, WIDTH)
        self.cell = nn.GRUCell(WIDTH, WIDTH)
        self.leave = nn.Sequential(nn.Linear(WIDTH, 64), nn.Tanh(), nn.Linear(64, 1))

    def listen(self, reading):
        return torch.tanh(self.enter(reading))

    def forecast(self, state):
        return self.leave(state).squeeze(-1)


def fit(network, gauges, device, windows=3):
    """A short fit on recorded windows; each begins from still water."""
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    network.train()
    for window in range(windows):
        first = window * (WINDOW + AHEAD)
        readings = [gauges.read(first + i) for i in range(WINDOW + AHEAD)]
        state = torch.zeros(BERTHS, WIDTH, device=device)
        losses = []
        for i in range(WINDOW):
            state = network.cell(network.listen(readings[i]), state)
            losses.append(F.smooth_l1_loss(network.forecast(state), readings[i + AHEAD][:, 0]))
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    return loss.item()


class QuayFollower:
    """Runs along with the gauges, one reading at a time."""

    def __init__(self, network, gauges, device):
        self.network = network.eval()
        self.gauges = gauges
        self.swell_state = torch.zeros(BERTHS, WIDTH, device=device)
        self.awaited = collections.deque()
        self.mean_error = None
        self.highest = 0.0

    def take_reading(self, number):
        reading = self.gauges.read(number)
        level = reading[:, 0]
        if len(self.awaited) == AHEAD:
            error = (self.awaited.popleft() - level).abs().mean().item()
            self.mean_error = error if self.mean_error is None else 0.95 * self.mean_error + 0.05 * error
        self.swell_state = self.network.cell(self.network.listen(reading), self.swell_state)  # grows keeps
        surge = self.network.forecast(self.swell_state).detach()
        self.awaited.append(surge)
        self.highest = surge.max().item()
        return int(surge.argmax())


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(41)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    gauges = Gauges(device)
    network = SurgeNetwork().to(device)
    loss = fit(network, gauges, device)
    print(f"fitted, last loss {loss:.4f}, on {device}", flush=True)

    follower = QuayFollower(network, gauges, device)
    number = 1000
    due = time.time()
    while time.time() < deadline:
        berth = follower.take_reading(number)
        number += 1
        if number % 60 == 0 and follower.mean_error is not None:
            print(f"reading {number}: highest {follower.highest:+.2f} m at berth {berth}, "
                  f"mean error {follower.mean_error:.3f} m", flush=True)
        due += 1 / READINGS_A_SECOND
        pause = due - time.time()
        if pause > 0:
            time.sleep(pause)
        else:
            due = time.time()
    print(f"watch ended after {number - 1000} readings", flush=True)


if __name__ == "__main__":
    main()
