"""Inspection of the ice of a rink by an infrared camera.

A camera on a rail passes over the sections of the rink one after another. Each pass gives a heat map, which is
smoothed and searched for soft spots; the resurfacing machine is sent where they are many. For a section that has
not been seen for half an hour (a rail may jam) a second look at the map of its last pass is put on the timetable.

ticket: practice
class: none
"""
import asyncio
import os
import time

import torch
from torch.nn import functional

torch.set_num_threads(1)

SECTIONS = 12
MAP_SHAPE = (240, 360)
PASSES_PER_SECOND = 11
SECOND_LOOK = 1800.0


class Ice:
    """Temperatures of the surface; skaters warm it, the resurfacing machine makes it even."""

    def __init__(self):
        self.softness = torch.rand(SECTIONS) * 0.4

    def skate(self):
        self.softness += torch.rand(SECTIONS) * 0.01

    def heat_map(self, section):
        noise = torch.randn(MAP_SHAPE)
        slope = torch.linspace(-0.5, 0.5, MAP_SHAPE[1])
        return -5.0 + self.softness[section] + 0.8 * noise + slope

    def resurface(self, section):
        self.softness[section] = 0.0


class Inspector:
    """Looks at heat maps, orders the machine and arranges second looks."""

    def __init__(self, ice, loop):
        self.ice = ice
        self.loop = loop
        self.orders = asyncio.Queue(maxsize=SECTIONS)
        self.second_looks = {}
        self.passes = 0
        self.late = 0

    def smooth(self, heat):
        return functional.avg_pool2d(heat[None, None], 5, stride=1, padding=2)[0, 0].contiguous()

    def soft_spots(self, smooth):
        return int((smooth > -4.55).sum())

    def second_look(self, section, smooth):
        self.late += 1
        if self.soft_spots(smooth) > 2000 and not self.orders.full():
            self.orders.put_nowait(section)

    def inspect(self, section):
        smooth = self.smooth(self.ice.heat_map(section))
        spots = self.soft_spots(smooth)
        if spots > 21000 and not self.orders.full():
            self.orders.put_nowait(section)
        former = self.second_looks.get(section)
        if former is not None:
            former.cancel()
        self.second_looks[section] = self.loop.call_later(SECOND_LOOK, self.second_look, section, smooth)
        self.passes += 1
        return spots


async def rail(inspector, end):
    """Moves the camera from section to section."""
    section = 0
    while time.time() < end:
        inspector.ice.skate()
        inspector.inspect(section)
        section = (section + 1) % SECTIONS
        await asyncio.sleep(1.0 / PASSES_PER_SECOND)


async def machine(inspector, tally):
    """The resurfacing machine: one section at a time."""
    while True:
        section = await inspector.orders.get()
        await asyncio.sleep(0.2)
        inspector.ice.resurface(section)
        tally["resurfaced"] += 1


async def speaker(inspector, tally):
    while True:
        await asyncio.sleep(3.0)
        warm = inspector.ice.softness.mean().item()
        print(f"passes {inspector.passes} resurfaced {tally['resurfaced']} late looks {inspector.late} "
              f"softness {warm:.3f}", flush=True)


async def shift(end):
    inspector = Inspector(Ice(), asyncio.get_running_loop())
    tally = {"resurfaced": 0}
    helpers = [asyncio.create_task(machine(inspector, tally)), asyncio.create_task(speaker(inspector, tally))]
    await rail(inspector, end)
    for helper in helpers:
        helper.cancel()
    await asyncio.gather(*helpers, return_exceptions=True)
    print(f"shift over after {inspector.passes} passes", flush=True)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.manual_seed(21)
    asyncio.run(shift(end))


if __name__ == "__main__":
    main()
