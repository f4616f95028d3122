"""A raised bog is drained on one side and watched from a hut in its middle.
Gas chambers on the moss give methane fields, piezometer strings in the peat give heads of water by depth.
The hut smooths both over the last ten seconds and estimates how much of the methane follows the water table.

ticket: practice
class: none
"""
import os
import time
from collections import deque
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
torch.manual_seed(4107)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_S = 8
WINDOW_S = 10.0
PLOTS = 256
DEPTHS = 768


@dataclass
class GasReading:
    at: float
    field: torch.Tensor


@dataclass
class HeadReading:
    """A string of piezometers; its logger counts in microseconds."""

    at_us: int
    heads: torch.Tensor


def logger_us():
    return time.monotonic_ns() // 1000


class Peat:
    """The state of the ground from which the instruments draw."""

    def __init__(self):
        self.conductivity = torch.rand(2048, 2048, device=DEVICE) * 1e-3
        self.table = torch.full((2048,), 0.4, device=DEVICE)

    def step(self, rain):
        flow = self.conductivity @ self.table
        self.table.mul_(0.995).add_(rain * 0.01).sub_(flow, alpha=1e-3).clamp_(0.0, 1.2)

    def methane(self):
        wet = self.table[:PLOTS].unsqueeze(1)
        return wet * torch.rand(PLOTS, 256, device=DEVICE)

    def water_heads(self):
        below = torch.linspace(0.0, 3.0, DEPTHS, device=DEVICE).unsqueeze(1)
        return below + self.table[:PLOTS].mean() + 0.02 * torch.randn(DEPTHS, PLOTS, device=DEVICE)


class Hut:
    """Keeps the two windows and answers with what is in them."""

    def __init__(self):
        self._gases = deque()
        self._heads = deque()
        self.taken = 0

    def take_gas(self, field):
        self._gases.append(GasReading(time.monotonic(), field))
        self.taken += 1

    def take_heads(self, heads):
        self._heads.append(HeadReading(logger_us(), heads))
        self.taken += 1

    def advance(self):
        now = time.monotonic()
        while self._gases and now - self._gases[0].at > WINDOW_S:
            self._gases.popleft()
        now_us = logger_us()
        while self._heads and (now_us - self._heads[0].at_us) * 1e-6 > WINDOW_S:
            self._heads.popleft()

    def mean_methane(self):
        latest = list(self._gases)[-16:]
        return sum(float(reading.field.mean()) for reading in latest) / max(1, len(latest))

    def head_drift(self):
        """Metres by which the newest string differs from the one four rounds before."""
        if len(self._heads) < 5:
            return 0.0
        return float((self._heads[-1].heads - self._heads[-5].heads).mean())


class Weather:
    def __init__(self):
        self._generator = torch.Generator().manual_seed(31)
        self._wet = 0.3

    def rain(self):
        push = float(torch.rand(1, generator=self._generator)) - 0.5
        self._wet = min(1.0, max(0.0, self._wet + 0.2 * push))
        return self._wet


def main():
    peat, hut, weather = Peat(), Hut(), Weather()
    start = time.monotonic()
    tick = start
    said = start
    rounds = 0
    with torch.no_grad():
        while time.monotonic() - start < SECONDS:
            peat.step(weather.rain())
            hut.take_gas(peat.methane())
            hut.take_heads(peat.water_heads())
            hut.advance()
            rounds += 1
            if time.monotonic() - said >= 3.0:
                said = time.monotonic()
                print(
                    f"round {rounds}: methane {hut.mean_methane():.4f}, head drift {hut.head_drift():+.5f} m, "
                    f"table {float(peat.table.mean()):.3f} m",
                    flush=True,
                )
            tick += 1.0 / ROUNDS_PER_S
            time.sleep(max(0.0, tick - time.monotonic()))
    print(f"done: {hut.taken} readings in {rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
