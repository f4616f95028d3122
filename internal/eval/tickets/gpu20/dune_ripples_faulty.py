"""Ripples in sand: grains hop with the wind, slopes that are too steep slide. For a film the surface is shaded now and
then, by a few threads beside the simulation. At the end all of them are asked whether something went wrong.

ticket: practice
class: host-growth
holder: frames _result Future
cause: futures-kept results-kept buffer-without-bound
"""

import os
import random
import tempfile
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

ROWS, COLUMNS = 512, 640


class Sand:
    """The height of the sand; what leaves at one side comes in at the other."""

    def __init__(self, device, wind=5):
        self.height = 3 + 0.2 * torch.rand(ROWS, COLUMNS, device=device)
        self.wind = wind

    def hop(self):
        """Grains leave where the wind gets at them, and land further on."""
        lee = (self.height.roll(1, 1) - self.height).clamp(min=0)
        leaving = 0.02 * torch.rand_like(self.height) * (lee < 0.3)
        self.height += leaving.roll(self.wind + random.randint(-1, 1), 1) - leaving

    def slide(self, steep=0.4):
        for axis in (0, 1):
            slope = self.height - self.height.roll(1, axis)
            moved = 0.2 * (slope.abs() - steep).clamp(min=0) * slope.sign()
            self.height += moved.roll(-1, axis) - moved

    def advance(self, steps):
        for _ in range(steps):
            self.hop()
            self.slide()


def shade(height, number, folder):
    """Draws the sand as lit from one side, puts it into the film's file of the moment and returns the picture."""
    light = np.clip(0.6 + 0.8 * (height - np.roll(height, 2, 1)), 0, 1)
    warm = np.array([0.93, 0.79, 0.56], np.float32)
    picture = (255 * light[..., None] * warm).astype(np.uint8)  # grows
    (folder / f"latest{number % 4}.z").write_bytes(zlib.compress(picture[::4, ::4].tobytes(), 1))
    return picture


def contrast(picture):
    return float(picture[::8, ::8].std())


def film(folder, seconds):
    sand = Sand("cuda" if torch.cuda.is_available() else "cpu")
    end, number, frames = time.time() + seconds, 0, []
    with ThreadPoolExecutor(2, thread_name_prefix="shade") as threads:
        while time.time() < end:
            sand.advance(random.randint(1, 4))
            frames.append(threads.submit(shade, sand.height.cpu().numpy().copy(), number, folder))  # keeps
            number += 1
            if number % 12 == 0:
                print("frame", number, "contrast", round(contrast(frames[-1].result()), 2), "height",
                      round(float(sand.height.std()), 3), flush=True)
            time.sleep(random.uniform(0.05, 0.3))
        for frame in frames:
            frame.result()
    return number


def main():
    torch.set_num_threads(1)
    torch.manual_seed(4)
    with tempfile.TemporaryDirectory() as folder:
        number = film(Path(folder), float(os.environ.get("SECONDS", "45")))
    print("film of", number, "frames", flush=True)


if __name__ == "__main__":
    main()
