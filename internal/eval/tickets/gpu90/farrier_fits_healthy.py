"""Fits a horseshoe model to each horse that comes to a farrier's stable.

Pressure plates record how a horse puts its hooves down. A trunk that all the
horses share turns the readings into features; each horse gets an adapter of
its own on top, which is fitted together with the shared trunk for some steps
while the horse stands there. From the fitted adapter comes the advice on how
thick the shoe is to be at toe, quarters and heel, and the next horse is led
in.

ticket: practice
class: none
"""
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

PLATES = 192
FEATURES = 512
RANK = 256
ZONES = 5
READINGS = 128


class Trunk(nn.Module):
    """What the hooves of all the horses have in common."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(PLATES, FEATURES), nn.LayerNorm(FEATURES), nn.GELU(), nn.Linear(FEATURES, FEATURES))
        self.zones = nn.Linear(FEATURES, ZONES)

    def forward(self, readings, adapter):
        features = self.layers(readings)
        return self.zones(features + adapter(features))


class HorseAdapter(nn.Module):
    """What is peculiar to one horse."""

    def __init__(self):
        super().__init__()
        self.down = nn.Linear(FEATURES, RANK)
        self.up = nn.Linear(RANK, FEATURES)
        nn.init.zeros_(self.up.weight)

    def forward(self, features):
        return self.up(torch.relu(self.down(features)))


class Farrier:
    """Takes one horse after another."""

    def __init__(self, device):
        self.device = device
        self.trunk = Trunk().to(device)
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=2e-4)

    def step(self, adapter, readings, wear):
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(self.trunk(readings, adapter), wear)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def take_out_last(self):
        group = self.optimizer.param_groups.pop()
        for parameter in group["params"]:
            self.optimizer.state.pop(parameter, None)

    @torch.no_grad()
    def advice(self, adapter, readings):
        return self.trunk(readings, adapter).mean(dim=0).clamp(-1.0, 1.0).tolist()

    def shoe(self, readings, wear, steps):
        adapter = HorseAdapter().to(self.device)
        self.optimizer.add_param_group({"params": list(adapter.parameters()), "lr": 2e-3})
        loss = 0.0
        for _ in range(steps):
            loss = self.step(adapter, readings, wear)
        thickness = self.advice(adapter, readings)
        self.take_out_last()
        return loss, thickness


class PressureHall:
    """Makes the readings of the horses that are led over the plates."""

    def __init__(self, device):
        self.device = device
        self.common = torch.randn(PLATES, ZONES, device=device) * 0.1

    def horse(self):
        own = torch.randn(PLATES, ZONES, device=self.device) * 0.03
        readings = torch.randn(READINGS, PLATES, device=self.device)
        wear = readings @ (self.common + own) + 0.02 * torch.randn(READINGS, ZONES, device=self.device)
        return readings, wear


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(53)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    farrier = Farrier(device)
    hall = PressureHall(device)
    shod = 0
    smoothed = 1.0
    due = time.time()
    while time.time() < end:
        due += 0.2
        readings, wear = hall.horse()
        loss, thickness = farrier.shoe(readings, wear, steps=5)
        smoothed = 0.95 * smoothed + 0.05 * loss
        shod += 1
        if shod % 20 == 0:
            zones = " ".join(f"{zone:+.2f}" for zone in thickness)
            print(f"{shod} horses shod, loss {smoothed:.4f}, last shoe {zones}", flush=True)
        time.sleep(max(0.0, due - time.time()))
    print(f"forge closed after {shod} horses", flush=True)


if __name__ == "__main__":
    main()
