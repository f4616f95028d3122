"""A weather radar looks for hail. The pulses of each sweep become reflectivity, speed and spread by the pulse-pair
method on the device; a pool of threads then puts the three onto a map, which is work for numpy. The newest map that is
done is the one on the screen, and the strongest echo on it is printed.

ticket: practice
class: none
"""

import math
import os
import random
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

RAYS, PULSES, GATES, MAP = 180, 16, 256, 512


class Storm:
    """A few cells that drift with the wind, as the echoes of pulses."""

    def __init__(self, device):
        self.device = device
        self.cells = [[random.uniform(0, RAYS), random.uniform(40, 200)] for _ in range(5)]

    def sweep(self):
        rays = torch.arange(RAYS, device=self.device)[:, None]
        gates = torch.arange(GATES, device=self.device)
        power = torch.full((RAYS, GATES), 0.01, device=self.device)
        for cell in self.cells:
            cell[0] = (cell[0] + random.gauss(0.5, 0.3)) % RAYS
            power += 50 * torch.exp(-((rays - cell[0]) ** 2) / 60 - (gates - cell[1]) ** 2 / 200)
        turn = torch.polar(torch.ones_like(power), 0.8 * torch.sin(rays / 20) + 0 * power)
        signal = torch.randn(RAYS, GATES, dtype=torch.cfloat, device=self.device)
        pulses = []
        for _ in range(PULSES):
            signal = 0.95 * signal * turn + 0.3 * torch.randn_like(signal)
            pulses.append(power.sqrt() * signal)
        return torch.stack(pulses, dim=1)


def moments(pulses):
    """Reflectivity in decibels, speed and spread of every gate of each ray."""
    power = pulses.abs().square().mean(dim=1)
    pairs = (pulses[:, 1:] * pulses[:, :-1].conj()).mean(dim=1)
    spread = torch.log(power / pairs.abs().clamp(min=1e-9)).clamp(min=0).sqrt()
    return torch.stack([10 * power.log10(), pairs.angle() / math.pi, spread]).cpu().numpy()


def to_map(sweep):
    """The sweep on a square map with the radar in its middle, three layers."""
    line = np.arange(MAP, dtype=np.float32) - MAP / 2
    x, y = line[None, :], line[:, None]
    gate = np.minimum(np.hypot(x, y), GATES - 1).astype(np.int32)
    ray = ((np.arctan2(y, x) / (2 * np.pi) % 1) * (RAYS - 1)).astype(np.int32)
    return sweep[:, ray, gate]


class Screen:
    def __init__(self):
        self.pool = ThreadPoolExecutor(2)
        self.sweeps = deque(maxlen=4)

    def add(self, sweep):
        self.sweeps.append(self.pool.submit(to_map, sweep))

    def strongest(self):
        for sweep in reversed(self.sweeps):
            if sweep.done():
                return sweep.result()[0].max()
        return float("nan")


def main():
    torch.set_num_threads(1)
    storm, screen, turns = Storm("cuda" if torch.cuda.is_available() else "cpu"), Screen(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        screen.add(moments(storm.sweep()))
        turns += 1
        if turns % 10 == 0:
            print(f"sweep {turns}: strongest echo {screen.strongest():.1f} dB", flush=True)
        time.sleep(0.15)
    screen.pool.shutdown()


if __name__ == "__main__":
    main()
