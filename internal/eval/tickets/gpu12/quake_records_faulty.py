"""Records of earthquakes are freed from what the seismometer did to them, by dividing their spectra by its response,
and a small network marks when the first wave came in. A record is cut from the first sign of the quake to its last, so
that hardly two of them are of the same length; each is transformed at the length that it has.

ticket: practice
class: driver-growth
holder: -
cause: cache-without-bound compiled-functions-kept
"""

import math
import os
import random
import time

import numpy as np
import torch
from torch import nn

RATE, SHORTEST, LONGEST, WINDOW = 100, 15000, 60000, 400


class Instrument:
    """A pendulum with a period and a damping, as the stations have them."""

    def __init__(self, period, damping):
        self.corner, self.damping = 2 * math.pi / period, damping

    def response(self, frequencies):
        turning = 2j * math.pi * frequencies
        return turning ** 2 / (turning ** 2 + 2 * self.damping * self.corner * turning + self.corner ** 2)


STATIONS = {"ridge": Instrument(120, 0.7), "cellar": Instrument(30, 0.7), "quarry": Instrument(1, 0.6),
            "island": Instrument(60, 0.65)}


def record(numbers, seconds):
    """What came in at a station, in three directions, and when the first wave did."""
    count = int(seconds * RATE)
    moment = np.arange(count, dtype=np.float32) / RATE
    first = numbers.uniform(0.1, 0.3) * seconds
    second = first * numbers.uniform(1.6, 1.9)
    waves = np.zeros((3, count), np.float32)
    for begin, strong, pitch in ((first, 1.0, 4.0), (second, 3.0, 1.5)):
        since = np.clip(moment - begin, 0, None)
        shape = strong * since * np.exp(-since / 12)
        turn = numbers.uniform(0, 6, (3, 1)).astype(np.float32)
        waves += shape * np.sin(pitch * numbers.uniform(0.8, 1.2) * since + turn).astype(np.float32)
    return waves + numbers.normal(0, 0.05, (3, count)).astype(np.float32), first


class Desk:
    """Works off records."""

    def __init__(self, device):
        self.device = device
        self.picker = nn.Sequential(nn.Conv1d(3, 16, 15, 5, 5), nn.ReLU(), nn.Conv1d(16, 16, 15, 4, 5), nn.ReLU(),
                                    nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(128, 1)).to(device)
        self.optimizer = torch.optim.Adam(self.picker.parameters(), lr=2e-3)

    @torch.no_grad()
    def ground(self, waves, instrument):
        """How the ground moved."""
        count = waves.shape[-1]
        spectrum = torch.fft.rfft(waves)  # grows
        response = instrument.response(torch.fft.rfftfreq(count, 1 / RATE, device=self.device))
        water = response.abs().amax() * 0.01
        spectrum = spectrum * response.conj() / (response.abs() ** 2 + water ** 2)
        return torch.fft.irfft(spectrum, count)  # grows

    def windows(self, ground, first):
        """Pieces of the record around the first wave, and others before and after."""
        at, last = int(first * RATE), ground.shape[-1] - WINDOW
        begins = [min(max(at - random.randint(50, 350), 0), last) for _ in range(16)]
        begins += [random.randrange(last) for _ in range(16)]
        pieces = torch.stack([ground[:, begin:begin + WINDOW] for begin in begins])
        wanted = torch.tensor([float(begin <= at < begin + WINDOW) for begin in begins], device=self.device)
        return pieces / pieces.std((1, 2), keepdim=True).clamp(min=1e-6), wanted

    def work(self, station, waves, first):
        ground = self.ground(torch.from_numpy(waves).to(self.device), STATIONS[station])
        pieces, wanted = self.windows(ground, first)
        loss = nn.functional.binary_cross_entropy_with_logits(self.picker(pieces)[:, 0], wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss)


def main():
    torch.set_num_threads(1)
    numbers, done, level = np.random.default_rng(), 0, 0.7
    desk = Desk("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for station in random.sample(list(STATIONS), random.randint(2, len(STATIONS))):
            waves, first = record(numbers, numbers.uniform(SHORTEST, LONGEST) / RATE)
            level = 0.95 * level + 0.05 * desk.work(station, waves, first)
            done += 1
            if done % 25 == 0:
                print("record", done, station, waves.shape[1], "points, loss", round(level, 3), flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
