"""The health of wind turbines is judged from what their sensors tell. Readings of a turbine come in blocks of uneven
length; the last ones, a window of them, are kept, and a network that knows healthy turbines looks at it.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

SENSORS, WINDOW, BLOCKS = 48, 4096, (1024, 1536, 2048)
NAMES = ("A1", "A2", "B1", "B2", "B3")


class Turbine:
    """Makes readings; wears out slowly, and is mended now and then."""

    def __init__(self, name, seed):
        self.name, self.numbers, self.at, self.wear = name, np.random.default_rng(seed), 0, 0.0
        self.pitch = self.numbers.uniform(0.01, 0.2, SENSORS).astype(np.float32)
        self.loud = self.numbers.uniform(0.3, 1.5, SENSORS).astype(np.float32)

    def read(self, count):
        moment = np.arange(self.at, self.at + count, dtype=np.float32)[:, None]
        self.at = (self.at + count) % 1000000
        self.wear = 0.0 if self.numbers.random() < 0.01 else self.wear + 0.005
        wave = self.loud * np.sin(self.pitch * moment)
        wave += self.wear * np.sin(3.1 * self.pitch * moment) ** 3
        return wave + 0.1 * self.numbers.standard_normal((count, SENSORS), dtype=np.float32)


class Monitor:
    """What is known of one turbine."""

    def __init__(self, turbine):
        self.turbine, self.score = turbine, 0.0
        self.readings = np.zeros((0, SENSORS), np.float32)

    def take(self, block):
        self.readings = np.concatenate([self.readings, block])[-WINDOW:].copy()

    def window(self):
        """The last readings, each sensor at its own scale; None while there are too few."""
        if len(self.readings) < WINDOW:
            return None
        return (self.readings - self.readings.mean(0)) / (self.readings.std(0) + 1e-3)


class Squeeze(nn.Module):
    """Says the readings again after they went through a narrow place."""

    def __init__(self, width=16):
        super().__init__()
        self.down = nn.Sequential(nn.Conv1d(SENSORS, width, 9, stride=4, padding=4), nn.ReLU(),
                                  nn.Conv1d(width, 8, 9, stride=4, padding=4))
        self.up = nn.Sequential(nn.ConvTranspose1d(8, width, 4, stride=4), nn.ReLU(),
                                nn.ConvTranspose1d(width, SENSORS, 4, stride=4))

    def forward(self, x):
        return self.up(self.down(x))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net, end, looks = Squeeze().to(device), time.time() + float(os.environ.get("SECONDS", "45")), 0
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    monitors = [Monitor(Turbine(name, seed)) for seed, name in enumerate(NAMES)]
    while time.time() < end:
        for monitor in random.sample(monitors, len(monitors)):
            monitor.take(monitor.turbine.read(random.choice(BLOCKS)))
            window = monitor.window()
            if window is None:
                continue
            batch = torch.from_numpy(np.ascontiguousarray(window.T)).to(device)[None]
            error = (net(batch) - batch).square().mean()
            monitor.score = 0.8 * monitor.score + 0.2 * float(error)
            if monitor.turbine.wear < 0.1:  # mended just now: so a healthy turbine looks
                optimizer.zero_grad()
                error.backward()
                optimizer.step()
            looks += 1
            time.sleep(random.uniform(0.02, 0.12))
        if looks % 4 == 0:
            worst = max(monitors, key=lambda monitor: monitor.score)
            print(looks, "looks, worst", worst.turbine.name, round(worst.score, 3), flush=True)


if __name__ == "__main__":
    main()
