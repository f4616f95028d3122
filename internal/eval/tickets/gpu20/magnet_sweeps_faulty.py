"""At which temperature does a magnet lose its magnetism? The Ising model on a large lattice, swept at temperatures that
close in on the critical one. The kernels are written for a temperature, with the chances of a flip as constants in
their text; as it takes a moment to compile them, they are kept for when the temperature comes again.

ticket: practice
class: driver-growth
holder: kernels Magnet cache memo
cause: compiled-functions-kept cache-without-bound
"""

import math
import os
import random
import tempfile
import time
from collections import deque

FOLDER = tempfile.TemporaryDirectory()
os.environ["CUPY_CACHE_DIR"] = FOLDER.name

import cupy as cp

SIDE = 1024
SOURCE = """
#define SIDE %(side)d
__device__ float lattice[SIDE * SIDE];
__device__ float chance(float aligned) { return aligned > 3.f ? %(four)sf : %(two)sf; }

extern "C" __global__ void load(const signed char *spins) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < SIDE * SIDE) lattice[at] = spins[at];
}
extern "C" __global__ void sweep(const float *luck, int colour) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int row = at / SIDE, column = at %% SIDE;
    if (at >= SIDE * SIDE || ((row + column) & 1) != colour) return;
    float around = lattice[((row + 1) %% SIDE) * SIDE + column] + lattice[((row + SIDE - 1) %% SIDE) * SIDE + column]
                 + lattice[row * SIDE + (column + 1) %% SIDE] + lattice[row * SIDE + (column + SIDE - 1) %% SIDE];
    float aligned = lattice[at] * around;
    if (aligned <= 0.f || luck[at] < chance(aligned)) lattice[at] = -lattice[at];
}
extern "C" __global__ void store(signed char *spins) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < SIDE * SIDE) spins[at] = lattice[at] > 0.f ? 1 : -1;
}
"""


class Magnet:
    def __init__(self):
        self.spins = cp.ones(SIDE * SIDE, cp.int8)
        self.kernels = {}

    def compiled(self, temperature):
        if temperature not in self.kernels:
            text = SOURCE % {"side": SIDE, "two": "%.9e" % math.exp(-4 / temperature),
                             "four": "%.9e" % math.exp(-8 / temperature)}
            module = cp.RawModule(code=text)
            names = "load", "sweep", "store"
            self.kernels[temperature] = [module.get_function(name) for name in names]  # grows keeps
        return self.kernels[temperature]

    def warm(self, temperature, sweeps):
        """Magnetisation after some sweeps at a temperature."""
        load, sweep, store = self.compiled(temperature)
        grid, block = (SIDE * SIDE // 256,), (256,)
        load(grid, block, (self.spins,))
        for _ in range(sweeps):
            for colour in (0, 1):
                luck = cp.random.random_sample(SIDE * SIDE, dtype=cp.float32)
                sweep(grid, block, (luck, cp.int32(colour)))
        store(grid, block, (self.spins,))
        return abs(float(self.spins.mean()))


def main():
    magnet, lately, trials = Magnet(), deque(maxlen=20), 0
    low, high = 1.6, 3.2
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    while time.time() < end:
        temperature = random.uniform(low, high)
        magnetisation = magnet.warm(temperature, random.choice((10, 20, 30)))
        trials += 1
        lately.append(magnetisation)
        if magnetisation > 0.3:
            low += 0.05 * (temperature - low)
        else:
            high -= 0.05 * (high - temperature)
        if high - low < 0.1:
            low, high = 1.6, 3.2
        if time.time() - said > 2:
            said = time.time()
            print(trials, "trials, critical between", round(low, 3), "and", round(high, 3), "magnetisation lately",
                  round(sum(lately) / len(lately), 3), flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
