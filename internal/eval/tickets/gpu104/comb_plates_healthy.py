"""Night rounds look at the comb plates of a station's escalators, where the steps slide under the floor. A camera
sweeps each plate, a pool of two workers turns the sweep into a relief of the teeth, and each relief is laid over the
one of the round before to find teeth that bend or break. The sweeps are simulated with slow random wear.

ticket: practice
class: none
"""
import os
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
UNITS = 6
TEETH = 48
ROWS, COLUMNS = 384, 768
LOOKS_A_SECOND = 6.0
ALERT = 0.35


class Plate:
    """The true state of one comb plate; teeth lose height and now and then one bends."""

    def __init__(self, unit, seed):
        self.unit = unit
        self._dice = torch.Generator().manual_seed(seed)
        self.heights = torch.ones(TEETH)
        self.replaced = 0

    def wear(self):
        self.heights -= 0.002 * torch.rand(TEETH, generator=self._dice)
        if torch.rand((), generator=self._dice) < 0.1:
            tooth = int(torch.randint(TEETH, (), generator=self._dice))
            self.heights[tooth] -= 0.6
        self.heights.clamp_(min=0.0)

    def replace(self):
        self.heights.fill_(1.0)
        self.replaced += 1

    def sweep(self):
        """One line of the camera over the teeth, with the flicker of the lamp."""
        line = self.heights.repeat_interleave(COLUMNS // TEETH)
        flicker = 1.0 + 0.03 * torch.randn(ROWS, 1, generator=self._dice)
        return (flicker * line).to(DEVICE)


class ReliefMaker:
    """Smooths a sweep along the teeth and takes the lamp's flicker out of it."""

    def __init__(self):
        window = torch.hann_window(17, periodic=False)
        self.kernel = (window / window.sum()).view(1, 1, 17, 1).to(DEVICE)

    @torch.no_grad()
    def __call__(self, sweep):
        level = sweep.median(dim=1, keepdim=True).values.clamp(min=1e-3)
        image = (sweep / level)[None, None]
        return F.conv2d(F.pad(image, (0, 0, 8, 8), mode="reflect"), self.kernel)[0, 0]


class NightRound:
    """Sends sweeps to the workers and compares each relief with that of the round before."""

    def __init__(self, plates):
        self.plates = plates
        self.make_relief = ReliefMaker()
        self.compared = 0
        self.alerts = 0
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="relief")
        self._reliefs = {}

    def look(self, unit, tour):
        plate = self.plates[unit]
        plate.wear()
        self._reliefs[unit, tour] = self._pool.submit(self.make_relief, plate.sweep())

    def compare(self, unit, tour):
        """Lay the relief of this tour over the last one; True when a tooth has moved."""
        latest = self._reliefs.get((unit, tour))
        before = self._reliefs.pop((unit, tour - 1), None)
        if latest is None or before is None:
            return False
        moved = (latest.result() - before.result()).abs()
        per_tooth = moved.view(ROWS, TEETH, -1).mean(dim=(0, 2))
        self.compared += 1
        return bool(per_tooth.max() > ALERT)

    def attend(self, unit):
        self.alerts += 1
        self.plates[unit].replace()

    def close(self):
        self._pool.shutdown(wait=True)


def main():
    torch.set_num_threads(1)
    plates = [Plate(unit, seed=300 + unit) for unit in range(UNITS)]
    night = NightRound(plates)
    start = time.monotonic()
    next_line = start + 2.0
    looks = 0
    while time.monotonic() - start < SECONDS:
        tour, unit = divmod(looks, UNITS)
        night.look(unit, tour)
        if night.compare(unit, tour):
            night.attend(unit)
        looks += 1
        if time.monotonic() >= next_line:
            lowest = min(float(plate.heights.min()) for plate in plates)
            print(f"tour {tour}: {night.compared} compared, {night.alerts} alerts, lowest {lowest:.2f}", flush=True)
            next_line += 3.0
        time.sleep(1.0 / LOOKS_A_SECOND)
    night.close()
    print(f"morning: {looks} looks, {sum(p.replaced for p in plates)} plates replaced", flush=True)


if __name__ == "__main__":
    main()
