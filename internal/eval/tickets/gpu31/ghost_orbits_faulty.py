"""An explorer of the ghosts that the orbits of z -> z * z + c leave. The user drags the two sliders of c, and the
number of visits to each pixel is counted on the device and shaded. The last thirty settings can be taken back. The
count is in a table of the module itself, and c is compiled in.

ticket: practice
class: driver-growth
holder: -
cause: modules-made-at-run-time compile-cache driver-memory-kept
"""

import math
import os
import random
import time
from collections import deque

import cupy
import numpy as np

SIZE, STARTS, STEPS = 1024, 1 << 16, 64

SOURCE = r"""
extern "C" {

__device__ unsigned int visits[SIZE * SIZE];

__global__ void clear() {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < SIZE * SIZE) visits[place] = 0;
}

__global__ void follow(const float* starts, int count) {
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= count) return;
    float x = starts[2 * number], y = starts[2 * number + 1];
    for (int step = 0; step < STEPS && x * x + y * y < 4.0f; step++) {
        float next = x * x - y * y + CX;
        y = 2.0f * x * y + CY;
        x = next;
        int column = (int) ((x + 2.0f) * 0.25f * SIZE), row = (int) ((y + 2.0f) * 0.25f * SIZE);
        if (column >= 0 && column < SIZE && row >= 0 && row < SIZE) atomicAdd(&visits[row * SIZE + column], 1u);
    }
}

__global__ void shade(float* picture) {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < SIZE * SIZE) picture[place] = logf(1.0f + (float) visits[place]);
}

}
"""


class Explorer:
    def __init__(self):
        random_numbers = np.random.default_rng(2)
        self.starts = cupy.asarray(random_numbers.uniform(-1.5, 1.5, size=(STARTS, 2)).astype(np.float32))
        self.picture = cupy.zeros((SIZE, SIZE), dtype=cupy.float32)
        self.setting = (-0.4, 0.6)
        self.undos = deque(maxlen=30)

    def drag(self, setting):
        self.undos.append(self.setting)
        self.setting = setting
        self.draw()

    def undo(self):
        if self.undos:
            self.setting = self.undos.pop()
            self.draw()

    def draw(self):
        x, y = self.setting
        options = f"-DSIZE={SIZE}", f"-DSTEPS={STEPS}", f"-DCX={x:.6f}f", f"-DCY={y:.6f}f"
        module = cupy.RawModule(code=SOURCE, options=options)  # keeps
        pixels = ((SIZE * SIZE + 255) // 256,), (256,)
        module.get_function("clear")(*pixels, ())  # grows keeps
        follow = module.get_function("follow")
        follow(((STARTS + 255) // 256,), (256,), (self.starts, np.int32(STARTS)))
        module.get_function("shade")(*pixels, (self.picture,))


def main():
    explorer, drawn, angle = Explorer(), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if random.random() < 0.85:
            angle += random.gauss(0.03, 0.05)
            radius = 0.75 + 0.05 * random.random()
            explorer.drag((radius * math.cos(angle), radius * math.sin(angle)))
        else:
            explorer.undo()
        drawn += 1
        if drawn % 20 == 0:
            x, y = explorer.setting
            print(f"{drawn} pictures, c = {x:.4f} {y:+.4f}i, light {float(explorer.picture.mean()):.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
