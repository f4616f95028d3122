"""Polar sweeps of a half wing model on the six component balance of a wind tunnel.

At each angle of attack the balance delivers a block of samples. The block is tared, turned into wind axes and reduced
to coefficients with their spread; at the end of a sweep a straight line through the attached range gives the lift
slope. Should the rig go down in the middle of a point, the raw block is reduced into the salvage table, so that the
point need not be driven again.

ticket: practice
class: none
"""
import math
import os
import time
import weakref

import torch

CHANNELS = 6
SAMPLES = 32768
POINTS_PER_SECOND = 8
AREA = 0.42
SALVAGE = {}


def spill(rig_name, alpha, block):
    """Last resort of a point that was not reduced in time."""
    SALVAGE[(rig_name, alpha)] = block.mean(dim=1).tolist()


class Balance:
    """Strain gauges behind a calibration matrix, with slow drift of the zero."""

    def __init__(self, seed):
        self.noise = torch.Generator().manual_seed(seed)
        self.matrix = torch.eye(CHANNELS) + 0.02 * torch.randn(CHANNELS, CHANNELS, generator=self.noise)
        self.zero = torch.zeros(CHANNELS, 1)

    def loads(self, alpha, pressure):
        rad = math.radians(alpha)
        lift = 5.6 * rad if alpha < 12 else 5.6 * math.radians(12) - 2.0 * (rad - math.radians(12))
        drag = 0.012 + 0.045 * lift * lift
        normal = lift * math.cos(rad) + drag * math.sin(rad)
        axial = drag * math.cos(rad) - lift * math.sin(rad)
        return pressure * AREA * torch.tensor([[axial], [0.002], [normal], [0.01], [-0.1 * lift], [0.0]])

    def sample(self, alpha, pressure):
        self.zero += 0.01 * torch.randn(CHANNELS, 1, generator=self.noise)
        buffet = 0.6 + (2.5 if alpha > 12 else 0.0)
        block = torch.randn(CHANNELS, SAMPLES, generator=self.noise)
        block.mul_(buffet).add_(self.matrix @ self.loads(alpha, pressure) + self.zero)
        return block


class Rig:
    """The model cart with its speed setting."""

    def __init__(self, name, speed):
        self.name = name
        self.pressure = 0.5 * 1.2 * speed ** 2
        self.balance = Balance(seed=int(speed))
        self.inverse = torch.linalg.inv(self.balance.matrix)


class Point:
    """One angle of attack, from the first sample to the coefficients."""

    def __init__(self, rig, alpha):
        self.rig = rig
        self.alpha = alpha

    def __enter__(self):
        self.block = self.rig.balance.sample(self.alpha, self.rig.pressure)
        self.guard = weakref.finalize(self.rig, spill, self.rig.name, self.alpha, self.block)
        return self

    def __exit__(self, *failure):
        if failure[0] is None:
            self.guard.detach()
        self.block = None
        return False

    def reduce(self):
        forces = (self.rig.inverse @ self.block).sub_(self.rig.inverse @ self.rig.balance.zero)
        mean = forces.mean(dim=1) / (self.rig.pressure * AREA)
        rad = math.radians(self.alpha)
        lift = float(mean[2]) * math.cos(rad) - float(mean[0]) * math.sin(rad)
        drag = float(mean[2]) * math.sin(rad) + float(mean[0]) * math.cos(rad)
        return lift, drag, float(forces[2].std())


def lift_slope(polar):
    """Slope per degree through the points below eight degrees."""
    rows = [(alpha, lift) for alpha, lift, _, _ in polar if alpha <= 8]
    base = torch.tensor([[alpha, 1.0] for alpha, _ in rows])
    return float(torch.linalg.lstsq(base, torch.tensor([[lift] for _, lift in rows])).solution[0])


def sweep(rig, end):
    polar = []
    for alpha in range(-4, 17, 2):
        if time.time() > end:
            break
        with Point(rig, alpha) as point:
            polar.append((alpha, *point.reduce()))
        time.sleep(1.0 / POINTS_PER_SECOND)
    return polar


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    rig, sweeps = Rig("half-wing", speed=40.0), 0
    while time.time() < end:
        polar = sweep(rig, end)
        sweeps += 1
        if len(polar) > 6 and sweeps % 2:
            best = max(polar, key=lambda row: row[1] / max(row[2], 1e-6))
            print(f"sweep {sweeps}: slope {lift_slope(polar):.4f} per degree, best glide at {best[0]} deg", flush=True)
    print(f"sweeps {sweeps}", flush=True)


if __name__ == "__main__":
    main()
