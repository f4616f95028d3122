"""Salinity of a chain of solar salt pans.

Sea water runs from pan to pan and thickens under sun and wind. In the first part of the run the evaporation rate of
the model is fitted to soundings of a reference pan; in the second part the whole chain is simulated with the fitted
rate, and the trend over the last hours tells the foreman which gates to open.

ticket: practice
class: app-leak
holder: fields
cause: buffer-without-bound
"""
import math
import os
import time
from collections import deque

import torch
import torch.nn.functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 14
FIT_SECONDS = 4.0
PANS, PAN_WIDTH, LENGTH = 8, 64, 256
TREND_HOURS = 28


class EvaporationFit:
    """Least squares for the evaporation rate and the wind's share in it."""

    def __init__(self, generator):
        self.generator = generator
        self.rate = torch.tensor([0.2, 0.1], device=DEVICE, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.rate], lr=0.02)

    def soundings(self, count=4096):
        weather = torch.rand(count, 2, device=DEVICE, generator=self.generator)
        noise = 0.02 * torch.randn(count, device=DEVICE, generator=self.generator)
        return weather, weather @ torch.tensor([0.55, 0.3], device=DEVICE) + noise

    def step(self):
        weather, loss_of_water = self.soundings()
        error = F.mse_loss(weather @ self.rate, loss_of_water)
        self.optimizer.zero_grad()
        error.backward()
        self.optimizer.step()
        return float(error.detach())


class PanChain:
    """Salinity in kilograms a cubic metre on the grid of all pans, pan beside pan."""

    def __init__(self, rate, generator):
        self.rate = rate
        self.generator = generator
        self.salinity = torch.full((PANS * PAN_WIDTH, LENGTH), 36.0, device=DEVICE)
        self.mixing = torch.tensor([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]], device=DEVICE)[None, None]
        self.hour = 0

    def advance(self):
        sun = max(0.0, math.sin(self.hour * math.pi / 12.0))
        wind = torch.rand(self.salinity.shape, device=DEVICE, generator=self.generator)
        drying = 0.01 * (self.rate[0] * sun + self.rate[1] * wind)
        padded = F.pad(self.salinity[None, None], (1, 1, 1, 1), mode="replicate")
        spread = 0.1 * F.conv2d(padded, self.mixing)[0, 0]
        inflow = 0.002 * (torch.roll(self.salinity, PAN_WIDTH, dims=0) - self.salinity)
        inflow[:PAN_WIDTH] = 0.01 * (36.0 - self.salinity[:PAN_WIDTH])
        self.salinity = (self.salinity * (1.0 + drying) + spread + inflow).clamp(30.0, 330.0)  # grows
        self.hour += 1
        return self.salinity


class TrendWindow:
    """Fields of the last hours and the slope of salinity over them."""

    def __init__(self, hours):
        self.hours = hours
        self._fields = deque()

    def add(self, field):
        self._fields.append(field)  # keeps

    def slope(self):
        span = min(self.hours, len(self._fields))
        if span < 2:
            return torch.zeros(PANS, device=DEVICE)
        change = (self._fields[-1] - self._fields[-span]) / (span - 1)
        return change.view(PANS, -1).mean(1)


def gates_to_open(chain, slope):
    level = chain.salinity.view(PANS, -1).mean(1)
    return ((level > 120.0) | (slope > 0.5)).nonzero().flatten().tolist()


def main():
    torch.set_num_threads(1)
    generator = torch.Generator(device=DEVICE).manual_seed(5)
    fit = EvaporationFit(generator)
    chain, trend, gates = None, TrendWindow(TREND_HOURS), []
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        if time.monotonic() - start < FIT_SECONDS:
            error = fit.step()
            line = f"fit: error {error:.5f}, rate {[round(r, 3) for r in fit.rate.tolist()]}"
        else:
            if chain is None:
                chain = PanChain(fit.rate.detach().clone(), generator)
            trend.add(chain.advance())
            slope = trend.slope()
            gates = gates_to_open(chain, slope)
            line = f"hour {chain.hour}: {float(chain.salinity.mean()):.1f} kg/m3, gates {gates}"
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(line, flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"season closed after {chain.hour if chain else 0} hours, gates open: {gates}", flush=True)


if __name__ == "__main__":
    main()
