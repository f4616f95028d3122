"""The laboratory of a sugar mill: reads the purity of molasses from images of the tanks.

Images are turned into maps of purity on the device, shift after shift. At the end of a shift, which lasts three
seconds here, a process of its own works out the calibration of the polarimeter from the means of the shift, by a
bootstrap on the processor. When it has answered, the laboratory corrects the maps of that shift and writes the report.

ticket: practice
class: app-leak
holder: readings
cause: results-kept
"""
import multiprocessing
import os
import random
import time
from collections import defaultdict

import numpy as np
import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SIDE = 362
TANKS = 6
SHIFT_SECONDS = 3.0
ROUNDS_PER_SECOND = 8
NOMINAL_PURITY = 36.0

fork = multiprocessing.get_context("fork")


def calibrate(answer, shift, means):
    """Runs in a process of its own: offset and uncertainty of the polarimeter by a bootstrap."""
    rng = np.random.default_rng(shift)
    values = np.asarray(means)
    offsets = np.empty(4000)
    for n in range(offsets.size):
        offsets[n] = NOMINAL_PURITY - rng.choice(values, values.size).mean()
    answer.send((shift, float(offsets.mean()), float(offsets.std())))
    answer.close()


class Calibration:
    """One run of the bootstrap."""

    def __init__(self, shift, means):
        self.receiver, sender = fork.Pipe(duplex=False)
        self.process = fork.Process(target=calibrate, args=(sender, shift, means), daemon=True)
        self.process.start()
        sender.close()

    def ready(self):
        return self.receiver.poll()

    def collect(self):
        answer = self.receiver.recv()
        self.process.join()
        self.process.close()
        self.receiver.close()
        return answer


class Laboratory:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lamp = torch.linspace(0.8, 1.2, SIDE, device=DEVICE).repeat(SIDE, 1)
        self.images = torch.rand(TANKS, SIDE, SIDE, device=DEVICE)
        self.shift = 0
        self.readings = defaultdict(list)
        self.means = []
        self.reports = 0

    def read(self):
        tank = self.rng.randrange(TANKS)
        image = self.images[tank].roll(self.rng.randrange(SIDE), dims=0)
        image.div_(self.lamp)
        purity = image * 4.0 + (NOMINAL_PURITY - 2.0 + self.rng.gauss(0, 0.3))  # grows
        self.readings[self.shift].append(purity)  # keeps
        self.means.append(purity.mean().item())

    def end_shift(self):
        calibration = Calibration(self.shift, self.means)
        self.shift += 1
        self.means = []
        return calibration

    def report(self, calibration):
        shift, offset, error = calibration.collect()
        maps = self.readings[shift]
        for purity in maps:
            purity.add_(offset)
        low = min(purity.min().item() for purity in maps)
        high = max(purity.max().item() for purity in maps)
        self.reports += 1
        return f"shift {shift}: {len(maps)} maps, offset {offset:+.3f} ± {error:.3f}, purity {low:.1f} to {high:.1f}"


def main():
    torch.manual_seed(71)
    laboratory = Laboratory(71)
    start = time.monotonic()
    next_shift = start + SHIFT_SECONDS
    running = None
    while (now := time.monotonic()) - start < SECONDS:
        laboratory.read()
        if running is not None and running.ready():
            print(laboratory.report(running), flush=True)
            running = None
        if running is None and now >= next_shift:
            running = laboratory.end_shift()
            next_shift += SHIFT_SECONDS
        time.sleep(max(0.02, 1 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    if running is not None:
        print(laboratory.report(running), flush=True)
    print(f"laboratory closed after {laboratory.reports} reports", flush=True)


if __name__ == "__main__":
    main()
