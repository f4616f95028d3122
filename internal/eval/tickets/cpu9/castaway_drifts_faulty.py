"""Drift forecasts for a sea rescue centre.

A feed publishes wind and current every tenth of a second.  For each report of a person or a raft in the
water the centre opens a search: a cloud of particles starts at the reported place and drifts with the feed,
each particle with a leeway of its own.  A helicopter flies to the densest cell of the cloud; when it has
swept enough of the cloud, or after a second or so, the search is stood down.

    ticket: practice
    class: host-growth
    holder: listeners
    cause: callbacks-left
"""
import os
import time
from dataclasses import dataclass

import torch

PARTICLES = 220_000
CELLS = 12
TICK_S = 0.1
OPEN_EVERY = 8
LONGEST = 14


@dataclass
class Sea:
    wind: torch.Tensor
    current: torch.Tensor


class SeaFeed:
    """Publishes the state of the sea to whoever has been attached."""

    def __init__(self, seed):
        self.dice = torch.Generator().manual_seed(seed)
        self.sea = Sea(torch.tensor([6.0, 2.0]), torch.tensor([0.4, -0.2]))
        self.listeners = []

    def attach(self, listener):
        self.listeners.append(listener)  # keeps

    def detach(self, listener):
        self.listeners.remove(listener)

    def publish(self):
        gust = torch.randn(2, 2, generator=self.dice)
        self.sea = Sea(self.sea.wind * 0.98 + 0.5 * gust[0], self.sea.current * 0.99 + 0.03 * gust[1])
        for listener in tuple(self.listeners):
            listener.on_sea(self.sea)


class DriftCloud:
    """Particles of one search, moved along by the feed."""

    def __init__(self, place, spread, dice):
        scatter = torch.randn(PARTICLES, 2, generator=dice)  # grows
        self.position = scatter.mul_(spread).add_(place)
        self.leeway = torch.rand(PARTICLES, 1, generator=dice).mul_(0.04)  # grows
        self.weight = torch.ones(PARTICLES)  # grows
        self.adrift = True

    def on_sea(self, sea):
        if not self.adrift:
            return
        self.position.add_(sea.current * TICK_S * 10.0)
        self.position.addcmul_(self.leeway, sea.wind * TICK_S * 10.0)

    def cells(self):
        low = self.position.amin(0)
        span = (self.position.amax(0) - low).clamp_min(1e-3)
        grid = ((self.position - low) / span * (CELLS - 1)).long()
        return grid[:, 0] * CELLS + grid[:, 1]

    def sweep(self):
        """Fly to the densest cell; most of what is there would have been seen."""
        cells = self.cells()
        density = torch.bincount(cells, self.weight, CELLS * CELLS)
        best = int(density.argmax())
        self.weight[cells == best] *= 0.2
        return float(density[best] / density.sum())


class Search:
    def __init__(self, number, feed, dice):
        self.number = number
        self.feed = feed
        self.ticks = 0
        self.swept = 0.0
        place = torch.rand(2, generator=dice) * 400.0
        self.cloud = DriftCloud(place, 4.0 + 3.0 * float(torch.rand(1, generator=dice)), dice)
        feed.attach(self.cloud)

    def fly(self):
        self.ticks += 1
        if self.ticks % 3 == 0:
            self.swept += self.cloud.sweep()
        return self.swept > 0.9 or self.ticks >= LONGEST

    def stand_down(self):
        self.cloud.adrift = False


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    dice = torch.Generator().manual_seed(8)
    feed, searches, tick, next_tick = SeaFeed(9), [], 0, time.time()
    while next_tick < end:
        if tick % OPEN_EVERY == 0:
            searches.append(Search(tick // OPEN_EVERY, feed, dice))
        feed.publish()
        for search in [search for search in searches if search.fly()]:
            search.stand_down()
            searches.remove(search)
            if search.number % 3 == 0:
                print(f"search {search.number} stood down after {search.ticks} ticks, "
                      f"{search.swept:.0%} swept, {len(searches)} open", flush=True)
        tick += 1
        next_tick += TICK_S
        time.sleep(max(0.0, next_tick - time.time()))


if __name__ == "__main__":
    main()
