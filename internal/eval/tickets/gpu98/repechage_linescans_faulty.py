"""Photo finish for the repechages of a rowing regatta.

A line-scan camera above the finish writes one column of pixels for each tick of its clock. The columns of a race come
as a strip straight from the grabber, so each strip gets a piece of device memory of its own. The judge looks for the
bow balls, lane by lane, and sends a strip back where spray or glare hides a lane.

ticket: practice
class: driver-growth
holder: -
cause: handle-leak
"""
import os
import time
from dataclasses import dataclass

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
LANES = 6
LANE_PIXELS = 128
PIXELS = LANES * LANE_PIXELS
TICKS = 1024
STRIPS_A_SECOND = 10
CLEAR_ENOUGH = 4.0


@dataclass
class Finish:
    """Ticks at which the bows of one race crossed the line, and the order of the lanes."""

    race: int
    ticks: list
    order: list

    def margin(self):
        first, second = sorted(self.ticks)[:2]
        return second - first


class Grabber:
    """Camera and frame grabber: makes strips with six bows, water and now and then spray."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.water = [
            self.random.random((PIXELS, TICKS), dtype=np.float32) * 0.4 for _ in range(8)
        ]
        self.hull = np.zeros(LANE_PIXELS, dtype=np.float32)
        self.hull[48:80] = 1.5
        self.strips = 0

    def grab(self):
        strip = self.water[self.strips % len(self.water)].copy()
        for lane in range(LANES):
            bow = int(self.random.integers(200, 800))
            rows = slice(lane * LANE_PIXELS, (lane + 1) * LANE_PIXELS)
            strip[rows, bow:bow + 160] += self.hull[:, None]
        if self.random.random() < 0.3:
            lane = int(self.random.integers(LANES))
            strip[lane * LANE_PIXELS:(lane + 1) * LANE_PIXELS] = 0.9
        self.strips += 1
        return strip


class DeviceStrip:
    """One strip in device memory of its own, outside the arrays' pool."""

    def __init__(self, pixels):
        self.pointer = cp.cuda.runtime.malloc(pixels.nbytes)  # grows
        memory = cp.cuda.UnownedMemory(self.pointer, pixels.nbytes, None)
        self.pixels = cp.ndarray(pixels.shape, dtype=cp.float32, memptr=cp.cuda.MemoryPointer(memory, 0))
        self.pixels.set(pixels)

    def release(self):
        self.pixels = None
        cp.cuda.runtime.free(self.pointer)
        self.pointer = 0


class Judge:
    """Reads the finish of each race from its strip."""

    def __init__(self):
        self.still_water = cp.full((PIXELS, 1), 0.2, dtype=cp.float32)
        self.smoothing = cp.zeros((LANES, TICKS), dtype=cp.float32)
        self.races = 0
        self.sent_back = 0

    def profiles(self, strip):
        lit = strip.pixels - self.still_water
        lanes = lit.reshape(LANES, LANE_PIXELS, TICKS)[:, 48:80].mean(axis=1)
        cp.multiply(lanes, 1.0, out=self.smoothing)
        return self.smoothing

    def read(self, pixels):
        self.races += 1
        strip = DeviceStrip(pixels)
        lanes = self.profiles(strip)
        clearness = lanes.max(axis=1) / (abs(lanes.mean(axis=1)) + 0.05)
        if float(clearness.min()) < CLEAR_ENOUGH:
            self.sent_back += 1
            return None
        crossed = (lanes > 1.0).argmax(axis=1)
        ticks = [int(tick) for tick in crossed.get()]
        strip.release()
        return Finish(self.races, ticks, [int(lane) + 1 for lane in np.argsort(ticks)])


def main():
    grabber = Grabber(seed=2028)
    judge = Judge()
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    closest = TICKS
    latest = None
    while time.monotonic() < end:
        began = time.monotonic()
        finish = judge.read(grabber.grab())
        if finish:
            latest = finish
            closest = min(closest, finish.margin())
        if time.monotonic() >= report_at:
            order = latest.order if latest else []
            print(f"race {judge.races}: last order {order}, closest finish {closest} ticks, "
                  f"{judge.sent_back} sent back", flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / STRIPS_A_SECOND - (time.monotonic() - began)))
    print(f"{judge.races} races judged, {judge.sent_back} strips sent back, closest {closest} ticks", flush=True)


if __name__ == "__main__":
    main()
