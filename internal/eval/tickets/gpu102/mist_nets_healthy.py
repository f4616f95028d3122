"""Catch expectations for mist nets at a bird ringing station in a wetland.

Before each net round the station looks up, for the place and the state of the tide, a map of where birds cross the reed
edge at net height. The map is made from a roughness field of the reed bed, and the ringers draw from it how many birds
of each guild to expect, so that enough bags and rings of each size go out with the team.

ticket: practice
class: none
"""
import os
import time
from collections import Counter
from dataclasses import dataclass

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
GRID = 512
ROUNDS_PER_SECOND = 10
GUILDS = ("reed warblers", "buntings", "rails", "waders")
ROSTER = (
    ("north dike", 0.18, 0.22, 12),
    ("sluice pond", 0.41, 0.35, 18),
    ("old channel", 0.63, 0.71, 12),
    ("alder corner", 0.82, 0.27, 9),
    ("heron spit", 0.29, 0.84, 15),
    ("bittern bay", 0.74, 0.55, 12),
)


@dataclass(frozen=True)
class NetSite:
    """A place for nets, as the roster of the day names it."""

    name: str
    east: float
    north: float
    metres: int


class ReedBed:
    """The wetland: height of reeds and depth of water on one grid."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        coarse = torch.rand(1, 4, 32, 32, generator=generator, device=DEVICE)
        fields = F.interpolate(coarse, size=(GRID, GRID), mode="bicubic", align_corners=False)[0]
        self.reeds, self.water, self.willow, self.path = fields.clamp(0.0, 1.0)
        axis = torch.linspace(0.0, 1.0, GRID, device=DEVICE)
        self.north, self.east = axis[:, None], axis[None, :]

    def edge(self, level):
        """How much of an edge between reeds and open water each cell is at this level of the water."""
        wet = torch.sigmoid(14.0 * (self.water - level))
        return self.reeds * wet * (1.0 - 0.5 * self.path)


class CrossingMaps:
    """Maps of crossing birds by site and tide."""

    levels = {"ebb": 0.62, "flood": 0.38}

    def __init__(self, bed):
        self.bed = bed
        self._maps = {}

    def lookup(self, site, tide):
        key = (site, tide)
        found = self._maps.get(key)
        if found is None:
            found = self._survey(site, tide)
            self._maps[key] = found
        return found

    def _survey(self, site, tide):
        reach = site.metres / 60.0
        apart = (self.bed.east - site.east) ** 2 + (self.bed.north - site.north) ** 2
        near = torch.exp(-apart / (2.0 * reach * reach))
        rough = near * self.bed.edge(self.levels[tide])
        smooth = F.avg_pool2d(rough[None, None], kernel_size=5, stride=1, padding=2)[0, 0]
        return smooth / smooth.sum().clamp_min(1e-6)


class RingingDay:
    """Goes through the roster again and again and adds up what is to be expected."""

    def __init__(self, maps, seed):
        self.maps = maps
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.shares = torch.tensor([0.46, 0.24, 0.12, 0.18], device=DEVICE)
        self.expected = Counter()
        self.rounds = 0

    def next_visit(self):
        site = NetSite(*ROSTER[self.rounds % len(ROSTER)])
        tide = "ebb" if (self.rounds // len(ROSTER)) % 2 == 0 else "flood"
        return site, tide

    def net_round(self):
        site, tide = self.next_visit()
        crossing = self.maps.lookup(site, tide)
        activity = 0.5 + torch.rand(1, generator=self.generator, device=DEVICE)
        dense = (crossing * GRID * GRID).clamp_max(6.0).mean() * activity * site.metres
        birds = torch.poisson(dense * self.shares, generator=self.generator).tolist()
        for guild, count in zip(GUILDS, birds):
            self.expected[guild] += int(count)
        self.rounds += 1
        return site, tide, int(sum(birds))


def main():
    torch.set_num_threads(1)
    day = RingingDay(CrossingMaps(ReedBed(seed=11)), seed=12)
    started = time.monotonic()
    next_print = started + 2.0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        site, tide, birds = day.net_round()
        if beat >= next_print:
            line = ", ".join(f"{count} {guild}" for guild, count in day.expected.most_common(3))
            print(f"round {day.rounds:4d} {site.name} at {tide}: {birds} birds; so far {line}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"nets furled after {day.rounds} rounds, {sum(day.expected.values())} birds expected", flush=True)


if __name__ == "__main__":
    main()
