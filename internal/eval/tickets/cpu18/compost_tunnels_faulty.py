"""A mushroom farm makes its own compost in four closed tunnels and forecasts the heat of each filling. A trunk
shared by all tunnels reads the last hours of air, ammonia and straw probes; every filling has a head of its
own, as no two mixes of straw and manure warm alike. A filling is trained while it lies in the tunnel, and a
tunnel that is emptied is filled again with a new mix.

ticket: practice
class: host-growth
holder: _optimizer
cause: optimizer-groups-added
"""
import os
import time

import torch
from torch import nn

TUNNELS = 4
PROBES = 48
HOURS = 24
HIDDEN = 320
HORIZON = 512
BATCH = 16
ROUNDS_PER_SECOND = 8
ROUNDS_IN_TUNNEL = 12


class Filling:
    """One filling of a tunnel: the mix and how its heat answers to the probes."""

    def __init__(self, number, generator):
        self.number = number
        self.age = 0
        self.straw = 0.4 + 0.3 * float(torch.rand(1, generator=generator))
        self.phase = 6.28 * float(torch.rand(1, generator=generator))

    def heat(self, probes):
        hours = torch.linspace(0.0, 6.28, HORIZON)
        drive = probes.mean(dim=(1, 2), keepdim=False).unsqueeze(1)
        return self.straw * torch.sin(hours + self.phase) + drive


class ProbeArchive:
    """Readings of past seasons, from which the batches are drawn."""

    def __init__(self, generator):
        self.generator = generator
        self.readings = torch.randn(6000, HOURS, PROBES, generator=generator)

    def batch(self):
        rows = torch.randint(len(self.readings), (BATCH,), generator=self.generator)
        return self.readings[rows]


class HeatForecaster:
    """Trunk for all tunnels, one head for each filling that lies in a tunnel."""

    def __init__(self):
        self.trunk = nn.Sequential(nn.Flatten(), nn.Linear(HOURS * PROBES, HIDDEN), nn.Tanh())
        self.heads = {}
        self._optimizer = torch.optim.Adam(self.trunk.parameters(), lr=1e-3)

    def fill(self, tunnel):
        head = nn.Linear(HIDDEN, HORIZON)  # grows
        self._optimizer.add_param_group({"params": list(head.parameters()), "lr": 3e-3})  # keeps
        self.heads[tunnel] = head

    def train(self, tunnel, probes, heat):
        self._optimizer.zero_grad(set_to_none=True)
        forecast = self.heads[tunnel](self.trunk(probes))
        loss = nn.functional.mse_loss(forecast, heat)
        loss.backward()
        self._optimizer.step()  # grows
        return loss.item()


class CompostYard:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.archive = ProbeArchive(self.generator)
        self.forecaster = HeatForecaster()
        self.fillings = {}
        self.filled = 0
        self.error = [1.0] * TUNNELS

    def _fill(self, tunnel):
        self.filled += 1
        self.fillings[tunnel] = Filling(self.filled, self.generator)
        self.forecaster.fill(tunnel)

    def work(self):
        for tunnel in range(TUNNELS):
            filling = self.fillings.get(tunnel)
            if filling is None or filling.age >= ROUNDS_IN_TUNNEL + tunnel:
                self._fill(tunnel)
                filling = self.fillings[tunnel]
            filling.age += 1
            probes = self.archive.batch()
            loss = self.forecaster.train(tunnel, probes, filling.heat(probes))
            self.error[tunnel] += 0.1 * (loss - self.error[tunnel])


def main():
    torch.set_num_threads(1)
    torch.manual_seed(70)
    seconds = float(os.environ.get("SECONDS", "120"))
    yard = CompostYard(seed=71)
    start = time.monotonic()
    next_report = start + 2.0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        yard.work()
        if began >= next_report:
            errors = " ".join(f"{error:.3f}" for error in yard.error)
            print(f"{began - start:6.1f} s  fillings {yard.filled}  error by tunnel {errors}", flush=True)
            next_report = began + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"yard closed: {yard.filled} fillings, mean error {sum(yard.error) / TUNNELS:.3f}", flush=True)


if __name__ == "__main__":
    main()
