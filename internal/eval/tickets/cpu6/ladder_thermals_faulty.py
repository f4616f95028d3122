"""Thermal cameras in the baskets of two turntable ladders of a fire brigade.

Each basket camera delivers temperature frames. A frame is smoothed, its hot cells are counted and their centre is
followed; a flare-up is reported as a warning. The frames of the moments before are at hand in a black box made of log
records, from which a short replay for the officer in charge is computed.

ticket: practice
class: host-growth
holder: buffer blackbox
cause: log-records-kept
"""
import logging
import logging.handlers
import os
import time

import numpy as np

ROWS, COLS = 240, 320
FRAMES_PER_SECOND = 10
HOT = 310.0
LOG = logging.getLogger("baskets")


class Replay(logging.Handler):
    """Takes the records of the black box and sums up what they saw."""

    def __init__(self):
        super().__init__()
        self.peaks = {}
        self.shown = 0

    def emit(self, record):
        frame = getattr(record, "frame", None)
        if frame is None:
            return
        peak = self.peaks.get(record.basket, 0.0)
        self.peaks[record.basket] = max(0.98 * peak, float(frame[::4, ::4].max()))
        self.shown += 1


class Facade:
    """A burning front of a house: seats of fire that flicker, flare up and are put out."""

    def __init__(self, rng):
        self.rng = rng
        self.y, self.x = np.mgrid[0:ROWS, 0:COLS].astype(np.float32)
        self.seats = [self.ignite() for _ in range(3)]

    def ignite(self):
        return [self.rng.uniform(20, ROWS - 20), self.rng.uniform(20, COLS - 20), self.rng.uniform(80, 200)]

    def burn(self):
        for i, seat in enumerate(self.seats):
            seat[2] *= self.rng.uniform(0.95, 1.055)
            if seat[2] < 30 or seat[2] > 900:
                self.seats[i] = self.ignite()

    def heat(self):
        total = np.full((ROWS, COLS), 288.0, dtype=np.float32)
        for row, col, power in self.seats:
            total += np.float32(power) / (1 + ((self.y - row) ** 2 + (self.x - col) ** 2) / np.float32(150))
        return total


def grab(heat, shift, rng):
    """Frame of one basket: the common heat from another side, with sensor noise."""
    frame = np.roll(heat, shift, axis=1)  # grows
    frame += rng.standard_normal((ROWS, COLS), dtype=np.float32)
    return frame


def hot_cells(frame):
    smooth = frame.reshape(ROWS // 8, 8, COLS // 8, 8).mean(axis=(1, 3))
    rows, cols = np.nonzero(smooth > HOT)
    centre = (float(rows.mean()) * 8, float(cols.mean()) * 8) if rows.size else None
    return rows.size, centre


def black_box(target):
    LOG.setLevel(logging.DEBUG)
    LOG.propagate = False
    blackbox = logging.handlers.MemoryHandler(capacity=100000, flushLevel=logging.CRITICAL, target=target)
    LOG.addHandler(blackbox)
    return blackbox


def watch(basket, frame, before):
    """Looks at one frame; returns the number of hot cells."""
    count, centre = hot_cells(frame)
    LOG.debug("basket %s: %d hot cells", basket, count, extra={"frame": frame, "basket": basket})  # keeps
    if count > 1.15 * before + 4:
        LOG.warning("basket %s: flare-up near %s", basket, centre)
    return count


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rng = np.random.default_rng(112)
    facade, replay = Facade(rng), Replay()
    black_box(replay)
    counts = {"north": 0, "south": 0}
    shifts = {"north": 0, "south": 45}
    tick = 0
    while time.time() < end:
        started = time.perf_counter()
        facade.burn()
        heat = facade.heat()
        for basket in counts:
            counts[basket] = watch(basket, grab(heat, shifts[basket], rng), counts[basket])
            shifts[basket] += int(rng.integers(-2, 3))
        tick += 1
        if tick % (3 * FRAMES_PER_SECOND) == 0:
            print(f"tick {tick}: hot cells {counts}, replayed {replay.shown}", flush=True)
        time.sleep(max(0.0, 1.0 / FRAMES_PER_SECOND - (time.perf_counter() - started)))
    print(f"ticks {tick}", flush=True)


if __name__ == "__main__":
    main()
