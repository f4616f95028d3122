"""Learning how hops dry in the hot air of an oast.

Green hops are spread on the kiln floor, load after load, and hot air is blown through the bed. A
small network learns the rate of drying from air temperature, air speed and depth of the bed; a
profile of resistance over the floor is fitted to each load beside it, because no two loads are
levelled alike.

ticket: practice
class: app-leak
holder: optimizer param_groups state
cause: optimizer-groups-added
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
FLOOR = 448
PROBES = 512
ROUNDS_PER_LOAD = 4
ROUNDS_PER_SECOND = 8


class DryingRate(nn.Module):
    """Grams of water that leave a kilogram of hops in a minute."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, air, resistance):
        return self.layers(air).squeeze(1) * torch.exp(-resistance)


class Load:
    """One load of green hops on the floor, with its probes and the profile that is fitted to it."""

    def __init__(self, number, generator):
        self.number = number
        self.moisture = 0.72 + 0.08 * float(torch.rand((), generator=generator))
        self.rows = torch.randint(FLOOR, (PROBES,), generator=generator).to(DEVICE)
        self.columns = torch.randint(FLOOR, (PROBES,), generator=generator).to(DEVICE)
        self.profile = nn.Parameter(torch.zeros(FLOOR, FLOOR, device=DEVICE))  # grows
        self.rounds = 0

    def resistance(self):
        return self.profile[self.rows, self.columns]

    @property
    def dry(self):
        return self.rounds >= ROUNDS_PER_LOAD


class Oast:
    def __init__(self, seed=1875):
        torch.manual_seed(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.model = DryingRate().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.load = None
        self.loads = 0
        self.error = 0.0

    def spread(self):
        """Fill the floor with the next load."""
        self.loads += 1
        self.load = Load(self.loads, self.generator)
        self.optimizer.add_param_group({"params": [self.load.profile], "lr": 5e-2})  # keeps

    def strip(self):
        """Push the dry hops off the floor to the cooling loft."""
        self.load = None

    def air(self):
        draw = torch.rand(PROBES, 3, generator=self.generator)
        return draw.to(DEVICE)

    def measured(self, air):
        temperature, speed, depth = air.unbind(1)
        noise = 0.02 * torch.randn(PROBES, generator=self.generator).to(DEVICE)
        return self.load.moisture * (0.4 + temperature) * speed.sqrt() / (1.0 + depth) + noise

    def fit(self):
        air = self.air()
        rate = self.model(air, self.load.resistance())
        loss = (rate - self.measured(air)).pow(2).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()  # grows
        self.load.rounds += 1
        self.error = 0.9 * self.error + 0.1 * float(loss.detach())

    def round(self):
        if self.load is None:
            self.spread()
        self.fit()
        if self.load.dry:
            self.strip()


def main():
    oast = Oast()
    start = time.monotonic()
    next_line = start + 3.0
    rounds = 0
    while time.monotonic() - start < SECONDS:
        oast.round()
        rounds += 1
        if time.monotonic() >= next_line:
            next_line += 3.0
            print(f"load {oast.loads}, round {rounds}: error {oast.error:.4f}", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"season over: {oast.loads} loads dried, error {oast.error:.4f}", flush=True)


if __name__ == "__main__":
    main()
