"""The palm house of a botanic garden is kept damp by rows of mist nozzles. Its climate archive holds a humidity map
of the house for every twenty-odd minutes of the past days; while the control runs, the oldest days are folded into
blocks of one piece each, and the noon map of a folded day serves as the day's reference. The control steers the
nozzles toward the mean of the references.

ticket: practice
class: pool-growth
holder: _references
cause: fragmentation
"""
import os
import time

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SIDE = 64
DAYS = 300
MAPS_A_DAY = 64
NOON = MAPS_A_DAY // 2
ROUNDS_A_SECOND = 5.0
ROUNDS_A_FOLD = 2
RECENT_REFERENCES = 8


class HouseModel:
    """Humidity over the floor: it drifts, dries at the panes and is fed by the nozzles."""

    def __init__(self, seed):
        self._dice = torch.Generator(device=DEVICE).manual_seed(seed)
        kernel = torch.tensor([[0.05, 0.1, 0.05], [0.1, 0.4, 0.1], [0.05, 0.1, 0.05]])
        self.kernel = kernel.view(1, 1, 3, 3).to(DEVICE)
        self.dryness = torch.full((SIDE, SIDE), 0.01, device=DEVICE)
        self.dryness[0].fill_(0.06)
        self.dryness[-1].fill_(0.06)
        self.humidity = torch.full((SIDE, SIDE), 0.7, device=DEVICE)

    def advance(self, mist):
        spread = F.conv2d(F.pad(self.humidity[None, None], (1, 1, 1, 1), mode="replicate"), self.kernel)[0, 0]
        gust = 0.01 * torch.randn(SIDE, SIDE, device=DEVICE, generator=self._dice)
        self.humidity.copy_((spread * (1.0 - self.dryness) + mist + gust).clamp_(0.0, 1.0))

    def past_map(self, level):
        return torch.rand(SIDE, SIDE, device=DEVICE, generator=self._dice).mul_(0.2).add_(level)


class ClimateArchive:
    """Past days, first as loose maps, then folded; references for the days that are folded."""

    def __init__(self, house):
        self._loose = {}
        self._blocks = {}
        self._references = {}
        for day in range(DAYS):
            level = 0.6 + 0.2 * (day % 12) / 12.0
            self._loose[day] = [house.past_map(level) for _ in range(MAPS_A_DAY)]

    def days_left(self):
        return len(self._loose)

    def fold_oldest(self):
        """Fold the oldest loose day into one block; return the day, None when all are folded."""
        if not self._loose:
            return None
        day = min(self._loose)
        maps = self._loose.pop(day)
        block = torch.stack(maps)  # grows
        self._blocks[day] = block
        self._references[day] = maps[NOON]  # keeps
        return day

    def reference(self):
        """The mean noon of the days folded last."""
        recent = sorted(self._references)[-RECENT_REFERENCES:]
        return torch.stack([self._references[day] for day in recent]).mean(dim=0)

    def spread_of(self, day):
        return self._blocks[day].std().item()


class MistControl:
    """Opens the nozzles where the house is drier than its reference."""

    def __init__(self, gain=0.3):
        self.gain = gain
        self.opened = 0.0

    def mist(self, humidity, reference):
        want = (reference - humidity).mul_(self.gain).clamp_(0.0, 0.08)
        self.opened = want.mean().item()
        return want


def main():
    torch.set_num_threads(1)
    house = HouseModel(seed=64)
    archive = ClimateArchive(house)
    control = MistControl()
    archive.fold_oldest()
    start = time.monotonic()
    next_line = start + 2.0
    rounds = 0
    spread = archive.spread_of(0)
    while time.monotonic() - start < SECONDS:
        house.advance(control.mist(house.humidity, archive.reference()))
        rounds += 1
        if rounds % ROUNDS_A_FOLD == 0:
            day = archive.fold_oldest()
            if day is not None:
                spread = archive.spread_of(day)
        if time.monotonic() >= next_line:
            damp = house.humidity.mean().item()
            print(f"humidity {damp:.3f}, nozzles {control.opened:.4f}, {archive.days_left()} days loose, "
                  f"spread {spread:.3f}", flush=True)
            next_line += 3.0
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"evening: {rounds} rounds, humidity {house.humidity.mean().item():.3f}", flush=True)


if __name__ == "__main__":
    main()
