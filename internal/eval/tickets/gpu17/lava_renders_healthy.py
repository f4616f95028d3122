"""Renders a film of a lava lake. The lake is a grid of heat which is stirred and cools; every frame it is coloured by
how hot it is and handed over to a thread, which packs the frames and writes them to disk, so that rendering has not to
wait for the disk until that is a few frames behind.

ticket: practice
class: none
"""

import os
import queue
import random
import tempfile
import threading
import time
import zlib

import torch
from torch.nn import functional as F

ROWS, COLUMNS = 540, 960


class Film:
    """A file of packed frames, written by a thread of its own."""

    def __init__(self):
        self.pending, self.written, self.packed = queue.Queue(maxsize=4), 0, 0
        self.file = tempfile.TemporaryFile()
        self.thread = threading.Thread(target=self.write, daemon=True)
        self.thread.start()

    def add(self, frame):
        self.pending.put(frame)

    def write(self):
        while True:
            frame = self.pending.get()
            if frame is None:
                return
            packed = zlib.compress(frame.numpy().tobytes(), 1)
            self.file.seek(0)
            self.file.write(packed)
            self.file.flush()
            self.written, self.packed = self.written + 1, self.packed + len(packed)
            time.sleep(random.uniform(0.2, 0.4))  # the disk is on the other end of a slow line


class Lake:
    def __init__(self, device):
        self.device = device
        coarse = torch.rand(1, 1, 12, 20, device=device)
        self.heat = F.interpolate(coarse, size=(ROWS, COLUMNS), mode="bilinear", align_corners=False)
        down, across = torch.meshgrid(torch.linspace(-1, 1, ROWS, device=device),
                                      torch.linspace(-1, 1, COLUMNS, device=device), indexing="ij")
        self.grid = torch.stack([across, down], -1)[None]
        self.moment = 0.0

    def step(self):
        """Stirs the lake, cools it, and lets new lava in somewhere."""
        self.moment += 0.1
        across, down = self.grid[..., 0], self.grid[..., 1]
        stir = torch.stack([torch.sin(5 * down + self.moment), torch.cos(4 * across - self.moment)], -1)
        self.heat = 0.99 * F.grid_sample(self.heat, self.grid + 0.01 * stir, padding_mode="border", align_corners=True)
        middle = random.uniform(-0.8, 0.8), random.uniform(-0.8, 0.8)
        apart = (across - middle[0]) ** 2 + (down - middle[1]) ** 2
        self.heat = (self.heat + 0.5 * torch.exp(-80 * apart)).clamp(0, 1)

    def frame(self):
        """Dark where it is cold, then red, and yellow where it is hot."""
        heat = self.heat[0, 0]
        colours = torch.stack([heat.sqrt(), heat ** 2, heat ** 6], -1)
        return (255 * colours).byte().cpu()


def main():
    torch.set_num_threads(1)
    lake, film, frames = Lake("cuda" if torch.cuda.is_available() else "cpu"), Film(), 0
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    while time.time() < end:
        lake.step()
        film.add(lake.frame())
        frames += 1
        if time.time() - said > 2:
            said = time.time()
            print(frames, "frames rendered,", film.written, "written,", film.packed >> 10, "KiB", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
