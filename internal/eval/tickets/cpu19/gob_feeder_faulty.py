"""Feeder of a container glass furnace.

Below the forehearth a plunger forms gobs of glass, and shears cut them off.  A camera takes every gob,
the moulds are scanned once a second, and the forehearth has a slow map of its temperature.  The
controller looks at the last seconds of all three to steer the stroke of the plunger.

ticket: practice
class: host-growth
holder: gobs items
cause: buffer-without-bound
"""
import os
import time
from collections import deque

import torch
import torch.nn.functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND_S = 0.06
WINDOW_S = 20.0
SETTLE_S = 0.25
MOULD_S = 1.0
HEARTH_S = 2.5
TARGET_MASS = 0.62


class Series:
    """Measurements of one sensor with their times, oldest first."""

    def __init__(self):
        self.items = deque()
        self.written_at = 0.0
        self.trimmed_at = 0.0

    def add(self, now, value):
        self.items.append((now, value))  # keeps
        self.written_at = now

    def last(self):
        return self.items[-1][1]

    def trim(self, horizon):
        while self.items and self.items[0][0] < horizon:
            self.items.popleft()


class Feeder:
    """The glass itself: gobs, moulds and forehearth."""

    def __init__(self, gen):
        self.gen = gen
        self.stroke = 1.0
        y = torch.linspace(-1, 1, 256).view(-1, 1)
        x = torch.linspace(-1, 1, 192).view(1, -1)
        self.radius = (y / 0.8) ** 2 + (x / 0.5) ** 2
        self.hearth = torch.full((512, 512), 1180.0)

    def gob(self):
        size = self.stroke * (1.0 + 0.03 * float(torch.randn(1, generator=self.gen)))
        glow = torch.sigmoid((size - self.radius) * 8.0)
        return glow + 0.02 * torch.randn(256, 192, generator=self.gen)  # grows

    def mould(self):
        return 480.0 + 6.0 * torch.randn(16, 96, 96, generator=self.gen)

    def forehearth(self):
        noise = torch.randn(1, 1, 64, 64, generator=self.gen)
        drift = F.interpolate(noise, size=(512, 512), mode="bilinear", align_corners=False)[0, 0]
        self.hearth = 1180.0 + 0.95 * (self.hearth - 1180.0) + drift
        return self.hearth.clone()


class Controller:
    """Holds the three series and steers the plunger."""

    def __init__(self, feeder):
        self.feeder = feeder
        self.gobs = Series()
        self.moulds = Series()
        self.hearths = Series()
        self.corrections = 0

    def take_gob(self, now):
        image = self.feeder.gob()
        self.gobs.add(now, image)
        mass = float(image.clamp(0, 1).mean()) * 2.0
        if abs(mass - TARGET_MASS) > 0.02:
            self.feeder.stroke *= 1.0 + 0.1 * (TARGET_MASS - mass)
            self.corrections += 1
        return mass

    def tidy(self, now):
        """Trim each series to the window, not more often than every SETTLE_S seconds."""
        for series in (self.gobs, self.moulds, self.hearths):
            if now - series.written_at < SETTLE_S:
                continue
            series.trim(now - WINDOW_S)
            series.trimmed_at = now

    def summary(self):
        mould = float(self.moulds.last().mean())
        hearth = float(self.hearths.last().mean())
        return f"moulds {mould:6.1f} C  forehearth {hearth:7.1f} C"


def main():
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(1903)
    feeder = Feeder(gen)
    controller = Controller(feeder)
    start = time.monotonic()
    told, mould_due, hearth_due = start, start, start
    mass, rounds = TARGET_MASS, 0
    with torch.no_grad():
        while (now := time.monotonic()) - start < SECONDS:
            mass = 0.9 * mass + 0.1 * controller.take_gob(now)
            if now >= mould_due:
                controller.moulds.add(now, feeder.mould())
                mould_due = now + MOULD_S
            if now >= hearth_due:
                controller.hearths.add(now, feeder.forehearth())
                hearth_due = now + HEARTH_S
            controller.tidy(now)
            rounds += 1
            if now - told >= 3.0:
                told = now
                print(f"{now - start:6.1f} s  gobs {rounds:5d}  mass {mass:5.3f}  stroke {feeder.stroke:5.3f}  "
                      f"{controller.summary()}", flush=True)
            time.sleep(max(0.0, ROUND_S - (time.monotonic() - now)))
    print(f"shift over: {rounds} gobs, {controller.corrections} corrections", flush=True)


if __name__ == "__main__":
    main()
