"""Radar swaths for a ski patrol's snowpack table.

Before the lifts open, radar masts sweep every sector of the resort twice a round: a wide swath for loose snow and a
narrow one for the depth of the old layers. A table holds one relief for each sector. It begins with the coarse relief
of the summer survey, and sector after sector gets its winter relief from the narrow swath.

ticket: practice
class: pool-growth
holder: reliefs
cause: fragmentation
"""

import os
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(30)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SECTORS = 44
RANGE_BINS = 1536
WIDE_BEAMS = 2048
NARROW_BEAMS = 1792
ROUNDS_A_SECOND = 3
ROUNDS_A_RELIEF = 5


class Mast:
    """A radar mast: a range profile and the pattern of its beams."""

    def __init__(self, sector):
        self.sector = sector
        self.profile = torch.rand(RANGE_BINS, 1, device=DEVICE) * 1.8
        self.wide_pattern = torch.rand(1, WIDE_BEAMS, device=DEVICE) - 0.5
        self.narrow_pattern = torch.rand(1, NARROW_BEAMS, device=DEVICE) - 0.5

    def snowfall(self, amount):
        self.profile.add_(amount).clamp_(max=4.0)

    def sweep_wide(self):
        return torch.add(self.profile, self.wide_pattern)  # grows

    def sweep_narrow(self):
        return torch.add(self.profile, self.narrow_pattern)


class SnowpackTable:
    """The newest relief of each sector."""

    def __init__(self, sectors):
        self.reliefs = {sector: torch.zeros(512, 512, device=DEVICE) for sector in range(sectors)}
        self.updates = 0

    def update(self, sector, swath):
        """Take the depth of the old layers from a narrow swath."""
        self.reliefs[sector] = swath[::2, ::4].clamp(min=0.0)  # grows keeps
        self.updates += 1

    def deepest(self):
        depths = [float(relief.max()) for relief in self.reliefs.values()]
        best = max(range(len(depths)), key=depths.__getitem__)
        return best, depths[best]


class Survey:
    """Sweeps all the sectors, round by round."""

    def __init__(self):
        self.masts = [Mast(sector) for sector in range(SECTORS)]
        self.table = SnowpackTable(SECTORS)
        self.rounds = 0
        self.loose = 0.0

    def wide_round(self):
        """All wide swaths side by side; loose snow is what lies over the middle of the resort."""
        swaths = [mast.sweep_wide() for mast in self.masts]
        middle = float(swaths[0][::8, ::8].mean())
        self.loose = max(float(swath[::8, ::8].mean()) for swath in swaths) - middle

    def narrow_round(self):
        """All narrow swaths, and the winter relief of the sector whose turn it is."""
        swaths = [mast.sweep_narrow() for mast in self.masts]
        if self.rounds % ROUNDS_A_RELIEF == 0:
            sector = (self.rounds // ROUNDS_A_RELIEF) % SECTORS
            self.table.update(sector, swaths[sector])

    def step(self):
        for mast in self.masts[self.rounds % 3::3]:
            mast.snowfall(0.002)
        self.wide_round()
        self.narrow_round()
        self.rounds += 1


def main():
    survey = Survey()
    started = time.monotonic()
    reported = started
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        survey.step()
        if begun - reported > 3.0:
            reported = begun
            sector, depth = survey.table.deepest()
            print(f"round {survey.rounds}: sector {sector} deepest at {depth:.2f} m, "
                  f"loose {survey.loose:.2f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    print(f"lifts open after {survey.rounds} rounds, {survey.table.updates} reliefs taken", flush=True)


if __name__ == "__main__":
    main()
