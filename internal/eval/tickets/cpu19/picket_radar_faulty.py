"""Radar plot of an ocean weather ship on station.

The ship's radar hears vessels, icebergs and its own balloons.  Each becomes a track with a picture of
its echoes; a small filter smooths the positions.  Drifting ice is carried on between echoes with the
current, and a track of which nothing was heard for a while is dropped from the plot.

ticket: practice
class: host-growth
holder: _tracks
cause: entries-left
"""
import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND_S = 0.125
SILENCE_S = 5.0
BEARINGS, RANGES = 128, 512
ARRIVALS = {"vessel": 0.3, "iceberg": 1.6, "balloon": 0.4}
CURRENT = torch.tensor([0.12, -0.05])


class Target:
    """Something real out there, that answers the radar for a few seconds."""

    def __init__(self, ident, kind, leaves, gen):
        self.ident = ident
        self.kind = kind
        self.leaves = leaves
        self.place = torch.rand(2, generator=gen) * 40.0 - 20.0
        self.speed = torch.randn(2, generator=gen) * 0.4

    def move(self, step):
        self.place += (CURRENT if self.kind == "iceberg" else self.speed) * step


class Track:
    """What the plot knows of one target."""

    def __init__(self, ident, kind, place, now, gen):
        self.ident = ident
        self.kind = kind
        self.place = place.clone()
        self.heard_at = now
        self.echoes = torch.rand(BEARINGS, RANGES, generator=gen)  # grows
        self.row = 0

    def hear(self, place, echo, now):
        self.place += 0.3 * (place - self.place)
        self.echoes[self.row] = echo
        self.row = (self.row + 1) % BEARINGS
        self.heard_at = now

    def carry(self, drift, now):
        """Dead reckoning for targets that only drift."""
        self.place += drift * ROUND_S
        self.heard_at = now


class Plot:
    """All tracks by their identity."""

    def __init__(self, gen):
        self.gen = gen
        self._tracks = {}
        self.opened = 0
        self.dropped = 0

    def report(self, target, now):
        place = target.place + 0.05 * torch.randn(2, generator=self.gen)
        track = self._tracks.get(target.ident)
        if track is None:
            track = Track(target.ident, target.kind, place, now, self.gen)
            self._tracks[target.ident] = track  # keeps
            self.opened += 1
        track.hear(place, torch.rand(RANGES, generator=self.gen), now)

    def reckon(self, now):
        for track in self._tracks.values():
            if track.kind == "iceberg":
                track.carry(CURRENT, now)

    def drop_silent(self, now):
        silent = [ident for ident, track in self._tracks.items() if now - track.heard_at > SILENCE_S]
        for ident in silent:
            del self._tracks[ident]
        self.dropped += len(silent)

    def nearest(self):
        if not self._tracks:
            return float("nan")
        places = torch.stack([track.place for track in self._tracks.values()])
        return float(places.norm(dim=1).min())


class Sea:
    """The targets around the station."""

    def __init__(self, gen):
        self.gen = gen
        self.targets = []
        self.serial = 0

    def turn(self, now):
        for kind, rate in ARRIVALS.items():
            for _ in range(int(torch.poisson(torch.tensor(rate), generator=self.gen))):
                self.serial += 1
                stay = 1.0 + 1.5 * float(torch.rand(1, generator=self.gen))
                self.targets.append(Target(self.serial, kind, now + stay, self.gen))
        self.targets = [target for target in self.targets if target.leaves > now]
        for target in self.targets:
            target.move(ROUND_S)


def main():
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(4711)
    sea, plot = Sea(gen), Plot(gen)
    start = time.monotonic()
    told = start
    with torch.no_grad():
        while (now := time.monotonic()) - start < SECONDS:
            sea.turn(now)
            for target in sea.targets:
                if float(torch.rand(1, generator=gen)) < 0.6:
                    plot.report(target, now)
            plot.reckon(now)
            plot.drop_silent(now)
            if now - told >= 3.0:
                told = now
                print(f"{now - start:6.1f} s  targets {len(sea.targets):3d}  opened {plot.opened:5d}  "
                      f"nearest {plot.nearest():5.2f} nm", flush=True)
            time.sleep(max(0.0, ROUND_S - (time.monotonic() - now)))
    print(f"watch over: {plot.opened} tracks opened, {sea.serial} targets passed", flush=True)


if __name__ == "__main__":
    main()
