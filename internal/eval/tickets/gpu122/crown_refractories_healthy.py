"""Thermal watch over the crown of a glass furnace.

A line camera under the crown sweeps the silica arch between the burner ports and delivers a radiance field for every
sweep. A small network turns the field into a temperature map; the maps of the last seven seconds are blended to tell
slow drift of a joint from the flicker of a flame reversal, and the arch is divided into bays for the operator's board.

    ticket: practice
    class: none
"""
import math
import os
import time
from collections import deque
from dataclasses import dataclass

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SWEEPS_PER_SECOND = 8
ARCH_ROWS, ARCH_COLUMNS = 384, 512
BAYS = 8
BLEND_SECONDS = 7.0
JOINT_LIMIT = 1612.0


@dataclass
class CrownMap:
    taken: float
    kelvin: torch.Tensor
    firing_side: str


class RadianceToKelvin(nn.Module):
    """Two thin convolutions which correct the radiance for smoke and window fouling."""

    def __init__(self):
        super().__init__()
        self.smoke = nn.Conv2d(1, 2, 3, padding=1)
        self.window = nn.Conv2d(2, 1, 3, padding=1)

    def forward(self, radiance):
        correction = self.window(torch.relu(self.smoke(radiance[None, None])))[0, 0]
        return 1580.0 + 20.0 * radiance + correction


class LineCamera:
    """Makes the sweeps: a warm arch, a flame that moves and the noise of the detector."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        rows = torch.linspace(-1.0, 1.0, ARCH_ROWS, device=DEVICE)[:, None]
        columns = torch.linspace(0.0, 1.0, ARCH_COLUMNS, device=DEVICE)[None, :]
        self.arch = torch.cos(rows) * (1.0 - 0.2 * columns)
        self.columns = columns

    def sweep(self, number):
        noise = torch.randn(ARCH_ROWS, ARCH_COLUMNS, generator=self.generator, device=DEVICE)
        centre = 0.5 + 0.4 * math.sin(number / 15.0)
        flame = torch.exp(-((self.columns - centre) ** 2) * 30.0)
        return self.arch + flame + 0.05 * noise


class BlendWindow:
    """The maps of the last seconds, oldest first; the horizon does not go back when the clock is corrected."""

    def __init__(self, seconds):
        self.seconds = seconds
        self._maps = deque()
        self._horizon = 0.0

    def add(self, crown_map):
        self._maps.append(crown_map)
        self._horizon = max(self._horizon, crown_map.taken - self.seconds)
        while self._maps[0].taken < self._horizon:
            self._maps.popleft()

    def blended(self, samples=6):
        stride = max(1, len(self._maps) // samples)
        picked = [self._maps[index] for index in range(0, len(self._maps), stride)]
        total = torch.zeros(ARCH_ROWS, ARCH_COLUMNS, device=DEVICE)
        for crown_map in picked[-samples:]:
            total += crown_map.kelvin
        return total / len(picked[-samples:])


class CrownBoard:
    """What the operator reads: a temperature for each bay and the joints above the limit."""

    def __init__(self):
        self.bays = [0.0] * BAYS
        self.hot_joints = 0

    def update(self, kelvin):
        self.bays = kelvin.reshape(ARCH_ROWS, BAYS, -1).mean(dim=(0, 2)).tolist()
        self.hot_joints = int((kelvin > JOINT_LIMIT).sum())

    def line(self):
        hottest = max(range(BAYS), key=self.bays.__getitem__)
        return f"hottest bay {hottest + 1} at {self.bays[hottest]:.1f} K, {self.hot_joints} cells above the limit"


def watch(seconds):
    torch.manual_seed(4401)
    model = RadianceToKelvin().to(DEVICE).eval()
    camera = LineCamera(seed=4402)
    window = BlendWindow(BLEND_SECONDS)
    board = CrownBoard()
    started = time.monotonic()
    sweep = 0
    while time.monotonic() - started < seconds:
        side = "left" if (sweep // 160) % 2 == 0 else "right"
        with torch.no_grad():
            kelvin = model(camera.sweep(sweep))
        window.add(CrownMap(time.monotonic() - started, kelvin, side))
        board.update(window.blended())
        sweep += 1
        if sweep % (3 * SWEEPS_PER_SECOND) == 0:
            print(f"sweep {sweep}, firing {side}: {board.line()}", flush=True)
        time.sleep(max(0.0, started + sweep / SWEEPS_PER_SECOND - time.monotonic()))
    return sweep, board


def main():
    torch.set_num_threads(1)
    sweeps, board = watch(float(os.environ.get("SECONDS", "120")))
    print(f"end of the watch after {sweeps} sweeps: {board.line()}", flush=True)


if __name__ == "__main__":
    main()
