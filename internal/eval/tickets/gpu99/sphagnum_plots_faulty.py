"""Sphagnum cover of a raised bog, seen from a drone.

A drone flies transects over the bog and hovers above marked plots. Each plot's spectral cube is unmixed into the
shares of peat moss, heather, cotton grass and open water, and every plot is signed off into the tally of its zone.
A line of figures is printed for each transect.

ticket: practice
class: app-leak
holder: _closing
cause: registered-for-the-end
"""
import os
import time
from contextlib import ExitStack

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_A_SECOND = 6.0
SIDE = 96
BANDS = 32
SPECIES = ("peat moss", "heather", "cotton grass", "open water")
ZONES = ("dome", "slope", "lagg")
PLOTS_A_TRANSECT = 10


class SpectralCamera:
    """Renders the cube of a plot from the reflectance curves of what grows there."""

    def __init__(self, seed):
        self._random = torch.Generator(device=DEVICE).manual_seed(seed)
        curves = torch.rand(len(SPECIES), BANDS, generator=self._random, device=DEVICE)
        self.curves = torch.cumsum(curves, dim=1) / BANDS

    def cube(self, wetness):
        shares = torch.rand(SIDE * SIDE, len(SPECIES), generator=self._random, device=DEVICE)
        shares[:, 0] += wetness
        shares[:, 3] += 0.5 * wetness
        shares = shares / shares.sum(dim=1, keepdim=True)
        noise = torch.randn(SIDE * SIDE, BANDS, generator=self._random, device=DEVICE)
        return torch.addmm(noise, shares, self.curves, beta=0.01)  # grows


class Plot:
    """One marked square of the bog with its cube and the shares found in it."""

    def __init__(self, number, zone, cube):
        self.number = number
        self.zone = zone
        self.cube = cube
        self.cover = None

    def unmix(self, inverse):
        shares = (self.cube @ inverse).clamp_(min=0.0)
        shares = shares / shares.sum(dim=1, keepdim=True).clamp_(min=1e-6)
        self.cover = shares.mean(dim=0).tolist()

    def brightness(self):
        return float(self.cube.mean())

    def sign_off(self, tally):
        row = tally[self.zone]
        row["plots"] += 1
        row["brightness"] += self.brightness()
        for kind, share in zip(SPECIES, self.cover):
            row[kind] += share


class Campaign:
    """The season's flights over one bog."""

    def __init__(self, camera):
        self._camera = camera
        self._inverse = torch.linalg.pinv(camera.curves)
        self._closing = ExitStack()
        self._moss = 0.0
        self._transect = 0
        self._number = 0
        self.tally = {zone: dict.fromkeys(("plots", "brightness") + SPECIES, 0.0) for zone in ZONES}

    def visit(self):
        zone = ZONES[self._number % len(ZONES)]
        wetness = 0.4 + 0.3 * ZONES.index(zone)
        plot = Plot(self._number, zone, self._camera.cube(wetness))
        plot.unmix(self._inverse)
        self._closing.callback(plot.sign_off, self.tally)  # keeps
        self._moss += plot.cover[0]
        self._number += 1
        if self._number % PLOTS_A_TRANSECT == 0:
            self.end_transect()

    def end_transect(self):
        self._transect += 1
        moss = self._moss / PLOTS_A_TRANSECT
        self._moss = 0.0
        print(f"transect {self._transect:3d}: {moss:6.1%} peat moss over {PLOTS_A_TRANSECT} plots", flush=True)

    def finish(self):
        self._closing.close()
        for zone, row in self.tally.items():
            plots = max(row["plots"], 1.0)
            figures = ", ".join(f"{kind} {row[kind] / plots:.1%}" for kind in SPECIES)
            print(f"{zone:6s} {int(row['plots'])} plots: {figures}", flush=True)


def main():
    campaign = Campaign(SpectralCamera(seed=1907))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        began = time.monotonic()
        campaign.visit()
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - began)))
    campaign.finish()
    print("the drone is packed away", flush=True)


if __name__ == "__main__":
    main()
