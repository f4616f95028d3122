"""Tidal currents over a mudflat.

A shallow-water model of a small bay. The open sea drives the western edge with a few
tidal constituents, and the bed slows the water by a drag map. The model runs along with
the clock for the harbour office; every twenty rounds of the model the drag map is fitted
anew to the gauges over a short window that starts at the present state of the water.

ticket: practice
class: app-leak
holder: water forecast
cause: uncut-autograd-graph
"""
import math
import os
import time
from dataclasses import dataclass

import torch
from torch import nn

ROWS, COLS = 256, 512
SPACING = 120.0
DT = 6.0
GRAVITY = 9.81
PACE = 1 / 4
CONSTITUENTS = ((1.62, 12.42, 0.3), (0.54, 12.00, 1.1), (0.21, 25.82, 2.0), (0.12, 23.93, 0.7))
GAUGES = ((40, 90), (128, 210), (200, 330), (90, 440))


@dataclass
class Water:
    eta: torch.Tensor
    u: torch.Tensor
    v: torch.Tensor

    @classmethod
    def at_rest(cls, device):
        return cls(*(torch.zeros(ROWS, COLS, device=device) for _ in range(3)))

    def detached(self):
        return Water(self.eta.detach(), self.u.detach(), self.v.detach())


class BedDrag(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_drag = nn.Parameter(torch.full((ROWS, COLS), -4.0))

    def forward(self, u, v):
        speed = torch.sqrt(u * u + v * v + 1e-6)  # grows
        return torch.exp(self.log_drag) * speed  # grows


def d_east(field):
    return (torch.roll(field, -1, 1) - torch.roll(field, 1, 1)) / (2 * SPACING)


def d_north(field):
    return (torch.roll(field, -1, 0) - torch.roll(field, 1, 0)) / (2 * SPACING)


def sea_level(hours):
    return sum(a * math.cos(2 * math.pi * hours / period - phase) for a, period, phase in CONSTITUENTS)


class Bay:
    """Depth, open edge and gauges of the bay: everything that stays as it is."""

    def __init__(self, device):
        shore = torch.linspace(6.0, 1.5, COLS, device=device)
        self.depth = shore.repeat(ROWS, 1)
        self.edge = torch.zeros(ROWS, COLS, dtype=torch.bool, device=device)
        self.edge[:, :3] = True
        self.rows = torch.tensor([r for r, _ in GAUGES], device=device)
        self.cols = torch.tensor([c for _, c in GAUGES], device=device)

    def advance(self, water, drag, hours):
        brake = 1.0 + DT * drag(water.u, water.v)
        u = (water.u - DT * GRAVITY * d_east(water.eta)) / brake  # grows
        v = (water.v - DT * GRAVITY * d_north(water.eta)) / brake  # grows
        eta = water.eta - DT * (d_east(self.depth * u) + d_north(self.depth * v))
        sea = torch.full_like(eta, sea_level(hours))
        return Water(torch.where(self.edge, sea, eta), u, v)

    def at_gauges(self, water):
        return water.eta[self.rows, self.cols]


class Forecast:
    def __init__(self, device):
        self.bay = Bay(device)
        self.drag = BedDrag().to(device)
        self.sgd = torch.optim.SGD(self.drag.parameters(), lr=0.05)
        self.water = Water.at_rest(device)
        self.hours = 0.0

    def step(self):
        self.hours += DT / 3600 * 20
        self.water = self.bay.advance(self.water, self.drag, self.hours)  # grows keeps

    def refit(self, readings, rounds=4):
        water, hours = self.water.detached(), self.hours
        for _ in range(rounds):
            hours += DT / 3600 * 20
            water = self.bay.advance(water, self.drag, hours)
        loss = (self.bay.at_gauges(water) - readings).pow(2).mean()
        self.sgd.zero_grad(set_to_none=True)
        loss.backward()
        self.sgd.step()
        return loss.item()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(11)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    forecast = Forecast(device)
    rounds, misfit = 0, float("nan")
    while time.time() < end:
        began = time.time()
        forecast.step()
        rounds += 1
        if rounds % 20 == 4:
            readings = torch.randn(len(GAUGES), device=device) * 0.05 + sea_level(forecast.hours)
            misfit = forecast.refit(readings)
            speed = forecast.water.u.abs().max().item()
            print(f"round {rounds} hour {forecast.hours:.2f} misfit {misfit:.4f} fastest {speed:.2f} m/s", flush=True)
        time.sleep(max(0.0, PACE - (time.time() - began)))


if __name__ == "__main__":
    main()
