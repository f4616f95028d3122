"""Lets ink spread in stirred water on the GPU and films it. Each frame is copied to page-locked memory; a thread packs
the frames and writes them to the film while the next ones are computed.

ticket: practice
class: host-growth
holder: frames queue Film PinnedMemory
cause: unbounded-queue pinned-staging
"""

import os
import queue
import random
import tempfile
import threading
import time
import zlib

import cupy as cp
import cupyx
import numpy as np

SIDE, PARTS = 512, 8

spread = cp.ElementwiseKernel(
    "raw float32 ink, raw float32 down, raw float32 right, int32 side",
    "float32 out",
    """
    int y = i / side, x = i % side;
    float from_y = y - down[i], from_x = x - right[i];
    int top = (int)floorf(from_y), left = (int)floorf(from_x);
    float part_y = from_y - top, part_x = from_x - left;
    int y0 = (top + side) % side, y1 = (y0 + 1) % side;
    int x0 = (left + side) % side, x1 = (x0 + 1) % side;
    float upper = ink[y0 * side + x0] * (1 - part_x) + ink[y0 * side + x1] * part_x;
    float lower = ink[y1 * side + x0] * (1 - part_x) + ink[y1 * side + x1] * part_x;
    out = 0.999f * (upper * (1 - part_y) + lower * part_y);
    """,
    "spread_ink",
)


class Film:
    """Takes the frames from the GPU and writes them, packed, to a file."""

    def __init__(self, path):
        self.path, self.written, self.packed = path, 0, 0
        self.frames = queue.Queue()
        threading.Thread(target=self.write, daemon=True).start()

    def shoot(self, ink):
        frame = cupyx.empty_pinned(ink.shape, ink.dtype)  # grows
        ink.get(out=frame)
        self.frames.put(frame)  # keeps

    def write(self):
        with open(self.path, "wb") as file:
            while True:
                frame = self.frames.get()
                for part in np.array_split(frame, PARTS):
                    file.write(zlib.compress(part, 6))
                    time.sleep(0.015)  # the share takes its time
                self.packed = file.tell()
                self.written += 1
                del frame, part


def currents(turn):
    """How far the water moves in one step, down and to the right."""
    places = cp.linspace(0, 2 * np.pi, SIDE, endpoint=False, dtype=cp.float32)
    down = 2 * cp.sin(2 * places + turn)[None, :] * cp.cos(places)[:, None]
    right = 2 * cp.cos(3 * places - turn)[:, None] * cp.sin(places)[None, :]
    return down.astype(cp.float32), right.astype(cp.float32)


def main():
    with tempfile.TemporaryDirectory() as folder:
        film, steps = Film(os.path.join(folder, "film.bin")), 0
        ink = cp.zeros((SIDE, SIDE), cp.float32)
        end = time.time() + float(os.environ.get("SECONDS", "45"))
        while time.time() < end:
            if steps % 20 == 0:
                y, x = random.randrange(SIDE - 40), random.randrange(SIDE - 40)
                ink[y : y + 40, x : x + 40] += 1
            down, right = currents(0.02 * steps)
            ink = spread(ink, down, right, np.int32(SIDE), size=SIDE * SIDE).reshape(SIDE, SIDE)
            film.shoot(ink)
            steps += 1
            if steps % 50 == 0:
                print(f"step {steps}: {float(ink.sum()):.0f} of ink, {film.written} frames written", flush=True)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
