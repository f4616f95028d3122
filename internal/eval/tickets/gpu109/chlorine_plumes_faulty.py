"""When a dosing pump lets chlorine into a swimming pool, the plume has to thin out before bathers may swim there.

The program follows the plume of each dose through the water, carried by the current of the inlets and spread by
mixing, and says how much of the basin is above the limit. A dose after an accident is urgent and is worked on with
a higher priority than one of the routine.

ticket: practice
class: pool-growth
holder: -
cause: pool-for-each-stream
"""

import os
import random
import time
from contextlib import nullcontext
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
BASIN = (32, 128, 256)
DOSE_EVERY = 3.0
STEPS_A_SECOND = 10
STEPS = 24
LIMIT = 0.02


@dataclass
class Dose:
    number: int
    litres: float
    inlet: tuple
    urgent: bool


@dataclass
class Outcome:
    number: int
    peak: float
    above_limit: float


class Lane:
    """A queue of work on the device, of its own priority."""

    def __init__(self, urgent):
        self._stream = None
        if DEVICE == "cuda":
            self._stream = torch.cuda.Stream(priority=-1 if urgent else 0)  # keeps

    def working(self):
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    def finish(self):
        if self._stream is not None:
            self._stream.synchronize()


class PlumeModel:
    def __init__(self):
        self.current = 1
        axes = [torch.linspace(-1.0, 1.0, size, device=DEVICE) for size in BASIN]
        self.depth, self.across, self.along = torch.meshgrid(*axes, indexing="ij")
        self.mixing = 0.08 + 0.04 * torch.rand(BASIN, device=DEVICE)

    def lane_for(self, dose):
        return Lane(dose.urgent)

    def follow(self, dose):
        """Follows one dose until it has thinned out; paced like the readings of the sensors."""
        lane = self.lane_for(dose)
        with lane.working():
            plume = self._release(dose)
            for _ in range(STEPS):
                begun = time.monotonic()
                plume = self._advance(plume)
                time.sleep(max(0.01, 1.0 / STEPS_A_SECOND - (time.monotonic() - begun)))
            outcome = Outcome(dose.number, float(plume.max()), float((plume > LIMIT).float().mean()))  # grows
            del plume
        lane.finish()
        return outcome

    def _release(self, dose):
        down, across, along = dose.inlet
        plume = (self.depth - down).square_()  # grows
        plume.add_((self.across - across).square_()).add_((self.along - along).square_())
        return plume.mul_(-30.0).exp_().mul_(dose.litres)

    def _advance(self, plume):
        spread = torch.roll(plume, 1, dims=2)
        for axis, shift in ((2, -1), (1, 1), (1, -1)):
            spread.add_(torch.roll(plume, shift, dims=axis))
        spread.mul_(0.25).sub_(plume).mul_(self.mixing)
        plume.add_(spread).mul_(0.97)
        return torch.roll(plume, self.current, dims=2)


def make_doses(dice):
    number = 0
    while True:
        inlet = (dice.uniform(-1, 1), dice.uniform(-0.8, 0.8), dice.uniform(-0.9, 0.0))
        yield Dose(number, dice.uniform(0.5, 2.0), inlet, urgent=number % 2 == 1)
        number += 1


def main():
    torch.set_num_threads(1)
    torch.manual_seed(19)
    dice = random.Random(19)
    model = PlumeModel()
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    doses = make_doses(dice)
    start = time.monotonic()
    followed = 0
    closed = 0
    while time.monotonic() - start < SECONDS:
        due = start + followed * DOSE_EVERY
        time.sleep(max(0.0, due - time.monotonic()))
        dose = next(doses)
        outcome = model.follow(dose)
        followed += 1
        closed += outcome.above_limit > 0.05
        kind = "urgent" if dose.urgent else "routine"
        print(
            f"dose {outcome.number} ({kind}): peak {outcome.peak:.3f} mg/l, above the limit {outcome.above_limit:.3f}",
            flush=True,
        )
    print(f"followed {followed} doses, {closed} of them keep a part of the basin closed", flush=True)


if __name__ == "__main__":
    main()
