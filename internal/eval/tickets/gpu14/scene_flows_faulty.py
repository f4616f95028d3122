"""A robot has cameras that see colour and distance. Out of two pictures, one shortly after the other, it is worked out
how everything in sight moves. As the cameras differ in size, memory for the pictures and what comes of them is taken
for each pair straight from the device, and given back after it.

ticket: MarianoJT88/PD-Flow#7
class: driver-growth
holder: -
cause: handle-leak
"""

import os
import random
import time

import cupy as cp
import numpy as np

SIZES, ROUNDS = ((480, 640), (540, 720)), 12


class SceneFlow:
    """The motion between two pictures with distance."""

    NAMES = ("colour_old", "colour_new", "depth_old", "depth_new", "colour_wf", "depth_wf")

    def __init__(self):
        self.addresses, self.shape = {}, None

    def allocate_device_memory(self, shape):
        self.shape, size = shape, int(np.prod(shape)) * 4
        for name in self.NAMES:
            self.addresses[name] = cp.cuda.runtime.malloc(size)  # grows keeps

    def free_device_memory(self):
        for name in ("colour_old", "colour_new", "depth_old", "depth_new"):
            cp.cuda.runtime.free(self.addresses.pop(name))

    def array(self, name):
        """The memory of that name, as an array."""
        size = int(np.prod(self.shape)) * 4
        memory = cp.cuda.UnownedMemory(self.addresses[name], size, self)
        return cp.ndarray(self.shape, cp.float32, cp.cuda.MemoryPointer(memory, 0))

    def load(self, old, new):
        for name, picture in zip(self.NAMES, (old[0], new[0], old[1], new[1])):
            self.array(name).set(picture)

    def weigh(self, kind):
        """Where the picture changes a lot in place, it is to be believed less."""
        old, new = self.array(kind + "_old"), self.array(kind + "_new")
        down, across = cp.gradient(new)
        self.array(kind + "_wf")[...] = 1 / (1 + 20 * (down * down + across * across) + 5 * cp.absolute(new - old))
        return down, across, new - old

    def solve(self):
        """Rounds of going where the change is explained, and smoothing that."""
        changes = {kind: self.weigh(kind) for kind in ("colour", "depth")}
        flow = cp.zeros((2,) + self.shape, cp.float32)
        for _ in range(ROUNDS):
            smooth = (cp.roll(flow, 1, 1) + cp.roll(flow, -1, 1) + cp.roll(flow, 1, 2) + cp.roll(flow, -1, 2)) / 4
            flow = smooth
            for kind, (down, across, change) in changes.items():
                left = down * smooth[0] + across * smooth[1] + change
                share = self.array(kind + "_wf") * left / (0.1 + down * down + across * across)
                flow = flow - 0.5 * cp.stack([share * down, share * across])
        return float(cp.absolute(flow).mean()), float(self.array("depth_new").mean())


def camera(shape):
    """Two pictures of some boxes, which have moved in between."""
    rows, columns = np.indices(shape, dtype=np.float32)
    shown = []
    boxes = [(random.randrange(shape[0]), random.randrange(shape[1]), random.uniform(20, 90)) for _ in range(4)]
    for moment in (0, 1):
        colour, depth = 0.2 * np.sin(columns / 9), np.full(shape, 4, np.float32)
        for row, column, wide in boxes:
            inside = (np.abs(rows - row - 2 * moment) < wide) & (np.abs(columns - column + moment) < wide)
            colour, depth = np.where(inside, 0.8, colour), np.where(inside, 2.5 - 0.02 * moment, depth)
        shown.append((colour.astype(np.float32), depth.astype(np.float32)))
    return shown


def main():
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    flow, pairs = SceneFlow(), 0
    while time.time() < end:
        shape = random.choice(SIZES)
        old, new = camera(shape)
        flow.allocate_device_memory(shape)
        flow.load(old, new)
        speed, distance = flow.solve()
        flow.free_device_memory()
        pairs += 1
        if time.time() - said > 2:
            said = time.time()
            print("pair", pairs, "moves", round(speed, 4), "at", round(distance, 2), "m", flush=True)
        time.sleep(random.uniform(0.1, 0.35))


if __name__ == "__main__":
    main()
