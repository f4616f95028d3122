"""A tide mill lives from the water that the flood leaves in its pond, and the miller wants to know an hour ahead how
high it will stand. Float gauges along the bank feed a recurrent network that follows the tide without a
break; beside it, the network is trained on short windows out of the most recent readings. The live forecast and the
training error are shown on the board by the gate.

ticket: practice
class: host-growth
holder: state
cause: uncut-autograd-graph
"""
import math
import os
import time
from collections import deque

import torch
from torch import nn

GAUGES = 192
CHANNELS = 12
HIDDEN = 256
WINDOW = 4


class Estuary:
    """Spring and neap tides as the gauges see them, with wind and the chop of the pond on top."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.offsets = torch.rand(GAUGES, 1, generator=self.generator)
        self.hour = 0.0

    def level(self, hour):
        lunar = math.sin(2 * math.pi * hour / 12.42)
        solar = 0.35 * math.sin(2 * math.pi * hour / 12.0)
        return lunar + solar

    def read(self):
        self.hour += 0.25
        chop = 0.05 * torch.randn(GAUGES, CHANNELS, generator=self.generator)
        reading = self.level(self.hour) + 0.2 * self.offsets + chop
        ahead = self.level(self.hour + 1.0) + 0.2 * self.offsets
        return reading, ahead


class PondNet(nn.Module):
    """A gated network in which each hidden unit remembers by itself."""

    def __init__(self):
        super().__init__()
        self.inflow = nn.Linear(CHANNELS, HIDDEN)
        self.gate = nn.Linear(CHANNELS, HIDDEN)
        self.memory = nn.Parameter(torch.linspace(-1.0, 1.0, HIDDEN))
        self.head = nn.Linear(HIDDEN, 1)

    def begin(self):
        return torch.zeros(GAUGES, HIDDEN)

    def forward(self, reading, state):
        keep = torch.sigmoid(self.gate(reading) + self.memory * state)  # grows
        fresh = torch.tanh(self.inflow(reading))  # grows
        following = torch.lerp(fresh, state, keep)  # grows
        return self.head(following), following


class LiveForecast:
    """Follows the gauges reading by reading and carries what the network knows of the tide."""

    def __init__(self, net):
        self.net = net
        self.state = net.begin()
        self.shown = deque(maxlen=32)

    def advance(self, reading):
        forecast, following = self.net(reading, self.state)
        self.state = following  # keeps
        height = forecast.mean().item()
        self.shown.append(height)
        return height


class Trainer:
    def __init__(self, net, seed):
        self.net = net
        self.optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
        self.recent = deque(maxlen=24)
        self.picker = torch.Generator().manual_seed(seed)
        self.error = None

    def remember(self, reading, ahead):
        self.recent.append((reading, ahead))

    def window(self):
        latest = len(self.recent) - WINDOW
        first = int(torch.randint(0, latest + 1, (1,), generator=self.picker))
        return [self.recent[first + k] for k in range(WINDOW)]

    def step(self):
        if len(self.recent) < WINDOW:
            return
        state = self.net.begin()
        loss = torch.zeros(())
        for reading, ahead in self.window():
            forecast, state = self.net(reading, state)
            loss = loss + nn.functional.smooth_l1_loss(forecast, ahead)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        value = loss.item() / WINDOW
        self.error = value if self.error is None else 0.95 * self.error + 0.05 * value


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1170)
    seconds = float(os.environ.get("SECONDS", "45"))
    estuary = Estuary(seed=5)
    net = PondNet()
    live = LiveForecast(net)
    trainer = Trainer(net, seed=6)
    started = spoken = time.monotonic()
    while time.monotonic() - started < seconds:
        reading, ahead = estuary.read()
        height = live.advance(reading)
        trainer.remember(reading, ahead)
        trainer.step()
        if time.monotonic() - spoken > 2.0:
            spoken = time.monotonic()
            print(f"hour {estuary.hour:7.2f}: pond in an hour {height:+.2f} m, error {trainer.error:.4f}", flush=True)
        time.sleep(0.07)
    swing = max(live.shown) - min(live.shown)
    print(f"gate shut at hour {estuary.hour:.2f}, last forecasts swung by {swing:.2f} m", flush=True)


if __name__ == "__main__":
    main()
