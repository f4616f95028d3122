"""Packing houses have their apples graded from above: each sends frames of its belt, and a kernel counts which class
each spot falls in, by the redness limits of the house. Houses adjust their limits now and then as the light changes.
The limits are handed to the kernel with each frame.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np

HEIGHT, WIDTH = 720, 1280
HOUSES = "Ebner", "Jonagold & Sons", "Lindenhof", "Vergers du Lac"

SOURCE = f"""
#define SPOTS ({HEIGHT} * {WIDTH})
__device__ float smooth[SPOTS];

extern "C" __global__ void soften(const float* frame)
{{
    int spot = blockDim.x * blockIdx.x + threadIdx.x;
    if (spot >= SPOTS) return;
    float left = frame[max(spot - 1, 0)], right = frame[min(spot + 1, SPOTS - 1)];
    smooth[spot] = 0.5f * frame[spot] + 0.25f * (left + right);
}}

extern "C" __global__ void grade(int* counts, float first, float second)
{{
    int spot = blockDim.x * blockIdx.x + threadIdx.x;
    if (spot >= SPOTS) return;
    int best = smooth[spot] > second ? (smooth[spot] > first ? 0 : 1) : 2;
    atomicAdd(&counts[best], 1);
}}
"""


class House:
    """A packing house with its limits and the kernels for them."""

    def __init__(self, name):
        self.name, self.frames = name, 0
        self.adjust(0.7, 0.3)
        module = cp.RawModule(code=SOURCE)
        self.soften = module.get_function("soften")
        self.grade = module.get_function("grade")

    def adjust(self, first, second):
        self.limits = np.float32(first), np.float32(second)

    def count(self, frame):
        """How many spots are of first class, second class, and for cider."""
        self.frames += 1
        frame, counts = cp.asarray(frame), cp.zeros(3, dtype=cp.int32)
        blocks = (HEIGHT * WIDTH + 255) // 256
        self.soften((blocks,), (256,), (frame,))
        self.grade((blocks,), (256,), (counts, *self.limits))
        return counts.get().tolist()


class Grader:
    def __init__(self):
        self.houses = {name: House(name) for name in HOUSES}
        self.adjusted = 0

    def handle(self, name, frame, limits=None):
        house = self.houses[name]
        if limits is not None:
            house.adjust(*limits)
            self.adjusted += 1
        return house.count(frame)


def main():
    grader, handled = Grader(), 0
    rng = np.random.default_rng()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        name = random.choice(HOUSES)
        frame = rng.random((HEIGHT, WIDTH), dtype=np.float32)
        limits = None
        if random.random() < 0.4:
            limits = random.uniform(0.6, 0.8), random.uniform(0.2, 0.4)
        counts = grader.handle(name, frame, limits)
        handled += 1
        if handled % 25 == 0:
            print(f"{handled} frames, {grader.adjusted} adjustments, {name}: {counts}", flush=True)
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
