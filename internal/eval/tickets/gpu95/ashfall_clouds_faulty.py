"""Ash fall round an erupting vent, as the air-space desk of a volcano observatory simulates it.

Once a second the vent throws out a cloud that consists of several puffs of grains. The puffs drift with the wind of
their cloud and sink at a speed that depends on the size of the grains; what reaches the ground is added to a map of
the deposit. The three youngest clouds are in the air, older ones have moved out of the district. The simulation
feeds a live display, so the cyclic collector of Python is switched off to have even frame times.

    ticket: practice
    class: app-leak
    holder: puffs cloud
    cause: reference-cycle
"""
import collections
import gc
import math
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
GRAINS = 160_000
PUFFS = 4
AIRBORNE = 3
CELLS = 256
DISTRICT = 40.0  # kilometres from edge to edge
PACE = 0.1


class Wind:
    def __init__(self, bearing, speed):
        self.bearing = bearing
        self.speed = speed

    def at(self, height, age):
        turn = self.bearing + 0.08 * height + 0.02 * math.sin(age)
        return self.speed * math.cos(turn), self.speed * math.sin(turn)


class Puff:
    """Grains of one size class: columns east, north, height (km) and the mass of a grain."""

    def __init__(self, cloud, height, settling):
        self.cloud = cloud  # keeps
        self.height = height
        self.settling = settling
        self.grains = torch.randn(GRAINS, 4, device=DEVICE)  # grows
        self.grains[:, 2].mul_(0.4).add_(height)
        self.grains[:, 3].abs_().mul_(1e-3)

    def drift(self, dt):
        east, north = self.cloud.wind.at(self.height, self.cloud.age)
        self.grains[:, 0].add_(east * dt)
        self.grains[:, 1].add_(north * dt)
        self.grains[:, 2].sub_(self.settling * dt)
        self.height = max(0.0, self.height - self.settling * dt)

    def landed(self):
        return self.grains[self.grains[:, 2] <= 0.0]


class Cloud:
    def __init__(self, wind, top):
        self.wind = wind
        self.age = 0.0
        self.puffs = []
        for rank in range(PUFFS):
            height = top * (0.4 + 0.6 * rank / PUFFS)
            self.puffs.append(Puff(self, height, settling=0.9 - 0.15 * rank))  # keeps

    def advance(self, dt):
        self.age += dt
        for puff in self.puffs:
            puff.drift(dt)


class Deposit:
    def __init__(self):
        self.mass = torch.zeros(CELLS * CELLS, device=DEVICE)

    def collect(self, puff):
        grains = puff.landed()
        if grains.shape[0] == 0:
            return
        cell = ((grains[:, :2] / DISTRICT + 0.5) * CELLS).long().clamp_(0, CELLS - 1)
        self.mass.index_add_(0, cell[:, 1] * CELLS + cell[:, 0], grains[:, 3].contiguous())

    def thickest(self):
        return float(self.mass.max())


class Vent:
    def __init__(self):
        self.clouds = collections.deque(maxlen=AIRBORNE)
        self.deposit = Deposit()
        self.bursts = 0

    def burst(self):
        wind = Wind(bearing=0.7 + 0.3 * math.sin(self.bursts), speed=1.5 + 0.5 * math.cos(self.bursts))
        self.clouds.append(Cloud(wind, top=4.0 + self.bursts % 3))
        self.bursts += 1

    def advance(self, step, dt):
        for cloud in self.clouds:
            cloud.advance(dt)
            self.deposit.collect(cloud.puffs[step % PUFFS])


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(79)
    gc.collect()
    gc.disable()
    vent = Vent()
    step = 0
    while time.time() < end:
        began = time.time()
        if step % 10 == 0:
            vent.burst()
        vent.advance(step, dt=0.3)
        step += 1
        if step % 30 == 0:
            print(f"step {step}: {vent.bursts} bursts, thickest cell {vent.deposit.thickest():.2f}", flush=True)
        time.sleep(max(0.0, PACE - (time.time() - began)))
    print(f"finished after {step} steps", flush=True)


if __name__ == "__main__":
    main()
