"""Grains fall onto piles in boxes of many sizes, with kernels in CUDA and cupy. The grains are sorted into cells, so as
to find their neighbours; the cells are arrays of the kernels' module, which has as many as the largest box needs, and
serves all boxes. It needs a GPU.

ticket: practice
class: none
"""

import os
import random
import tempfile
import time

os.environ.setdefault("CUPY_CACHE_DIR", os.path.join(tempfile.gettempdir(), "grain_piles"))

import cupy as cp

WIDEST, HIGHEST, ROOM, THREADS = 400, 320, 12, 128
SOURCE = r"""
#define CELLS %d
#define ROOM %d

__device__ int counts[CELLS];
__device__ int members[CELLS][ROOM];

extern "C" __global__ void clear(int cells) {
    for (int cell = blockIdx.x * blockDim.x + threadIdx.x; cell < cells; cell += gridDim.x * blockDim.x)
        counts[cell] = 0;
}

extern "C" __global__ void sort(const float2* places, int grains, int wide) {
    int grain = blockIdx.x * blockDim.x + threadIdx.x;
    if (grain >= grains) return;
    int cell = min(max(int(places[grain].y) * wide + int(places[grain].x), 0), CELLS - 1);
    int slot = atomicAdd(&counts[cell], 1);
    if (slot < ROOM) members[cell][slot] = grain;
}

extern "C" __global__ void push(const float2* places, float2* speeds, int grains, int wide, int high) {
    int grain = blockIdx.x * blockDim.x + threadIdx.x;
    if (grain >= grains) return;
    float2 own = places[grain], force = make_float2(0.0f, -0.02f);
    for (int y = max(int(own.y) - 1, 0); y <= min(int(own.y) + 1, high - 1); y++)
        for (int x = max(int(own.x) - 1, 0); x <= min(int(own.x) + 1, wide - 1); x++) {
            int cell = min(y * wide + x, CELLS - 1);
            for (int slot = 0; slot < min(counts[cell], ROOM); slot++) {
                int other = members[cell][slot];
                float dx = own.x - places[other].x, dy = own.y - places[other].y;
                float far = sqrtf(dx * dx + dy * dy);
                if (other == grain || far >= 1.0f || far < 1e-4f) continue;
                force.x += 0.3f * (1.0f - far) * dx / far;
                force.y += 0.3f * (1.0f - far) * dy / far;
            }
        }
    speeds[grain].x = 0.98f * (speeds[grain].x + force.x);
    speeds[grain].y = 0.98f * (speeds[grain].y + force.y);
}
"""


class Yard:
    """Where the piles are made."""

    def __init__(self):
        module = cp.RawModule(code=SOURCE % (WIDEST * HIGHEST, ROOM))
        self.kernels = [module.get_function(name) for name in ("clear", "sort", "push")]

    def pile(self, wide, high, grains, steps):
        """How high the grains lie after some steps."""
        clear, sort, push = self.kernels
        size = cp.asarray([wide - 1e-3, high - 1e-3], cp.float32)
        places = cp.random.random((grains, 2), dtype=cp.float32) * size
        speeds, blocks = cp.zeros_like(places), (-(-grains // THREADS),)
        for _ in range(steps):
            clear((64,), (THREADS,), (cp.int32(wide * high),))
            sort(blocks, (THREADS,), (places, cp.int32(grains), cp.int32(wide)))
            push(blocks, (THREADS,), (places, speeds, cp.int32(grains), cp.int32(wide), cp.int32(high)))
            places = cp.minimum(cp.maximum(places + 0.2 * speeds, 0), size)
        return float(cp.percentile(places[:, 1], 90))


def main():
    end, yard, piles = time.time() + float(os.environ.get("SECONDS", "45")), Yard(), 0
    while time.time() < end:
        wide, high = random.randint(240, WIDEST), random.randint(200, HIGHEST)
        for angle in range(random.randint(1, 3)):
            top = yard.pile(wide, high, random.choice((10000, 20000, 30000)), random.randint(50, 150))
            time.sleep(random.uniform(0.2, 0.5))
        piles += 1
        if piles % 4 == 0:
            print(piles, "piles, the last one in a box of", wide, "by", high, "lies", round(top, 1), "high", flush=True)


if __name__ == "__main__":
    main()
