"""Damps the sway of the container cranes of a terminal. A recurrent observer guesses from the rope encoders how each
load swings, and the trolleys are pushed against the swing. The observer is trained elsewhere and only runs here, so it
is in evaluation mode; its state goes on from tick to tick for as long as the cranes work.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn

CRANES, SENSORS, WIDTH = 48, 12, 384
TICK, GRAVITY, ROPE = 0.05, 9.81, 22.0


class SwayObserver(nn.Module):
    """Guesses the angle and the rate of each load from what the encoders say."""

    def __init__(self):
        super().__init__()
        self.inlet = nn.Sequential(nn.Linear(SENSORS, WIDTH), nn.Tanh())
        self.cell = nn.GRUCell(WIDTH, WIDTH)
        self.outlet = nn.Linear(WIDTH, 2)
        self.state = None

    def reset(self, cranes):
        self.state = torch.zeros(cranes, WIDTH, device=self.outlet.weight.device)

    @torch.no_grad()
    def forward(self, readings):
        features = self.inlet(readings)
        self.state = self.cell(features, self.state)
        return self.outlet(self.state)


class Terminal:
    """The true loads: pendulums below trolleys, pushed by wind."""

    def __init__(self):
        self.angle = 0.1 * torch.randn(CRANES)
        self.rate = torch.zeros(CRANES)
        self.mixing = torch.randn(2, SENSORS)

    def readings(self):
        clean = torch.stack([self.angle, self.rate], dim=1) @ self.mixing
        return clean + 0.01 * torch.randn(CRANES, SENSORS)

    def push(self, acceleration):
        wind = 0.02 * torch.randn(CRANES)
        swing = -(GRAVITY * torch.sin(self.angle) + acceleration * torch.cos(self.angle)) / ROPE
        self.rate = 0.999 * self.rate + TICK * (swing + wind)
        self.angle = self.angle + TICK * self.rate


def command(estimate):
    """The acceleration of each trolley, within what its drive can give."""
    angle, rate = estimate.unbind(dim=1)
    return (0.8 * angle + 2.4 * rate).clamp(-0.6, 0.6)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    terminal, observer = Terminal(), SwayObserver().to(device).eval()
    observer.reset(CRANES)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    ticks, due = 0, time.time()
    while time.time() < end:
        estimate = observer(terminal.readings().to(device))
        terminal.push(command(estimate).cpu())
        ticks += 1
        if ticks % 60 == 0:
            worst = terminal.angle.abs().max().item()
            print(f"tick {ticks}: worst sway {57.3 * worst:.2f} degrees", flush=True)
        due += TICK
        time.sleep(max(0.0, due - time.time()))


if __name__ == "__main__":
    main()
