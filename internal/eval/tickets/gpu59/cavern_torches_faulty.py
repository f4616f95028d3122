"""Prototype of the lighting of our cave game. The cave has no end: chunks of rock are made from a seed when they come
into view, and put into textures for the hardware filter. The explorer wanders with a flickering torch, and the four
chunks around the camera are shaded each frame.

ticket: practice
class: driver-growth
holder: Cave rocks TextureObject texture
cause: cache-without-bound driver-memory-kept
"""

import math
import os
import random
import time
from collections import deque

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

CHUNK = 640             # texels along an edge, 1.6 MB a chunk
SPEED = 3.0             # chunks per second; the explorer is in a hurry
FRAME = 1 / 20
BLOCK = 16

SHADE = cp.RawKernel(r"""
extern "C" __global__
void shade(cudaTextureObject_t rock, float* screen, int size, float torch_x, float torch_y, float flame)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size)
        return;
    float u = x + 0.5f, v = y + 0.5f;
    float slope_x = tex2D<float>(rock, u + 1.5f, v) - tex2D<float>(rock, u - 1.5f, v);
    float slope_y = tex2D<float>(rock, u, v + 1.5f) - tex2D<float>(rock, u, v - 1.5f);
    float dx = torch_x - u, dy = torch_y - v;
    float distance = sqrtf(dx * dx + dy * dy + 400.0f);
    float facing = fmaxf(0.1f, 1.0f + (slope_x * dx + slope_y * dy) * 4.0f / distance);
    screen[y * size + x] = flame * facing / (1.0f + distance * 0.01f) * (0.4f + 0.6f * tex2D<float>(rock, u, v));
}
""", "shade")


class Cave:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.octaves = [(rng.uniform(0.5, 1.5) * 2 ** k, rng.uniform(0, math.tau), 0.5 ** k) for k in range(1, 6)]
        self.grid = cp.linspace(0, 1, CHUNK, endpoint=False, dtype=cp.float32)
        self.channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        self.sampler = texture.TextureDescriptor((runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModeLinear,
                                                 runtime.cudaReadModeElementType)
        self.rocks = {}

    def carve(self, column, row):
        """Height of the rock in a chunk, from 0 to about 1."""
        x, y = self.grid[None, :] + column, self.grid[:, None] + row
        height = cp.full((CHUNK, CHUNK), 0.5, dtype=cp.float32)
        for frequency, phase, strength in self.octaves:
            height += 0.5 * strength * cp.sin(frequency * x + phase) * cp.cos(frequency * 1.3 * y - phase)
        return height.astype(cp.float32)

    def rock(self, column, row):
        """The texture of a chunk, made when it is first seen."""
        if (column, row) not in self.rocks:
            array = texture.CUDAarray(self.channel, CHUNK, CHUNK)  # grows
            array.copy_from(self.carve(column, row))
            resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
            self.rocks[column, row] = texture.TextureObject(resource, self.sampler)  # keeps
        return self.rocks[column, row]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    cave, screen = Cave(seed=77), cp.zeros((4, CHUNK, CHUNK), dtype=cp.float32)
    x = y = 0.0
    heading, flame, frame = random.uniform(0, math.tau), 1.0, 0
    frame_times = deque(maxlen=100)
    blocks = (CHUNK + BLOCK - 1) // BLOCK
    while time.time() < end:
        start = time.perf_counter()
        heading += random.gauss(0, 0.04)
        x, y = x + SPEED * FRAME * math.cos(heading), y + SPEED * FRAME * math.sin(heading)
        flame = min(1.2, max(0.7, flame + random.gauss(0, 0.05)))
        left, top = math.floor(x - 0.5), math.floor(y - 0.5)
        for view, (column, row) in zip(screen, [(left + i, top + j) for j in (0, 1) for i in (0, 1)]):
            light = np.float32((x - column) * CHUNK), np.float32((y - row) * CHUNK), np.float32(flame)
            SHADE((blocks, blocks), (BLOCK, BLOCK), (cave.rock(column, row), view, np.int32(CHUNK), *light))
        brightness = float(screen.mean())
        frame_times.append(time.perf_counter() - start)
        frame += 1
        if frame % 60 == 0:
            mean = 1000 * sum(frame_times) / len(frame_times)
            print(f"({x:.1f}, {y:.1f}) brightness {brightness:.3f}, {mean:.1f} ms a frame", flush=True)
        time.sleep(max(0.0, FRAME - frame_times[-1]))


if __name__ == "__main__":
    main()
