"""Monitor of the pendulums of a town's clock towers.

Sensors on the pendulum rods give the swing of every clock as a short trace. The monitor smooths
it, compares it with the long record of the last swings to find the rate of the clock, and follows
the strokes of the escapement to judge its wear. A keeper is told when a clock runs fast or slow.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
TOWERS = 24
SAMPLES = 3200
RECORD = 250
STRIKES = 30
TEETH = 30

torch.set_num_threads(1)


class Pendulums:
    """Makes the traces of all towers for one swing."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.phase = torch.rand(TOWERS, 1, generator=self.generator, device=DEVICE)
        self.rate = 1.0 + 0.002 * torch.randn(TOWERS, 1, generator=self.generator, device=DEVICE)
        self.time = torch.linspace(0.0, 6.2832, SAMPLES, device=DEVICE)

    def swing(self):
        noise = torch.randn(TOWERS, SAMPLES, generator=self.generator, device=DEVICE)
        self.phase = (self.phase + 0.01 * self.rate) % 1.0
        return torch.sin(self.time * self.rate + self.phase) + 0.02 * noise


def trim(window, keep):
    """Leave the newest entries of a window."""
    if len(window) > keep:
        del window[:-keep]


class EscapementWatch:
    """Follows the strokes of the pallets on the teeth of the wheel."""

    def __init__(self, keep):
        self.keep = keep
        self.strikes = []

    def follow(self, trace):
        slope = (trace[:, 1:] - trace[:, :-1]).abs()
        stroke = slope[:, :2730].contiguous()
        self.strikes.append(stroke)
        trim(self.strikes, self.keep)

    def wear(self):
        recent = self.strikes[-self.keep:]
        first, last = recent[0], recent[-1]
        return float((last - first).pow(2).mean().sqrt())


class RateRecord:
    """The last swings of all the towers, to tell how fast each clock runs."""

    def __init__(self, length):
        self.swings = deque(maxlen=length)

    def add(self, trace):
        smooth = 0.5 * trace[:, 1:] + 0.5 * trace[:, :-1]
        self.swings.append(smooth)

    def rates(self):
        oldest, newest = self.swings[0], self.swings[-1]
        return (newest - oldest).mean(dim=1)


class Keeper:
    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.notices = 0

    def judge(self, rates):
        late = int((rates.abs() > self.tolerance).sum())
        self.notices += late
        return late


def main():
    pendulums = Pendulums(seed=44)
    record = RateRecord(RECORD)
    watch = EscapementWatch(STRIKES)
    keeper = Keeper(tolerance=0.004)
    start = time.monotonic()
    last_line = start
    index = 0
    late = 0
    while time.monotonic() - start < SECONDS:
        trace = pendulums.swing()
        record.add(trace)
        watch.follow(trace)
        if index % TEETH == TEETH - 1:
            late = keeper.judge(record.rates())
        index += 1
        now = time.monotonic()
        if now - last_line >= 3.0:
            last_line = now
            print(f"{now - start:6.1f} s  swings {index}  on record {len(record.swings)}"
                  f"  clocks off {late}  wear {watch.wear():.4f}", flush=True)
        time.sleep(max(0.0, start + index / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"monitor ends after {index} swings, {keeper.notices} notices to the keeper", flush=True)


if __name__ == "__main__":
    main()
