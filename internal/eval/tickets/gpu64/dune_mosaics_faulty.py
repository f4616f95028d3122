"""Puts satellite scenes of a desert together to a mosaic. Each scene is laid into a texture, from which the texture
unit resamples it to the grid of the map; in the strip where it meets the scene before it, both are resampled, and the
difference of their brightness is evened out.

ticket: practice
class: driver-growth
holder: scenes Strip TextureObject
cause: entries-left driver-memory-kept
"""

import math
import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.texture import CUDAarray, ChannelFormatDescriptor, ResourceDescriptor, TextureDescriptor, TextureObject

SIDE, OVERLAP, BLOCK = 1024, 128, 16
SOURCE = r"""
extern "C" __global__
void resample(cudaTextureObject_t scene, const float* affine, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = affine[0] * x + affine[1] * y + affine[2];
    float v = affine[3] * x + affine[4] * y + affine[5];
    out[y * width + x] = tex2D<float>(scene, u + 0.5f, v + 0.5f);
}
"""
resample = cp.RawKernel(SOURCE, "resample")
FLOATS = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
SMOOTH = TextureDescriptor(
    (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp), runtime.cudaFilterModeLinear,
    runtime.cudaReadModeElementType)


def texture(picture):
    store = CUDAarray(FLOATS, SIDE, SIDE)  # grows
    store.copy_from(picture)
    return TextureObject(ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=store), SMOOTH)


class Strip:
    """The scenes along one orbit, from west to east."""

    def __init__(self):
        self.scenes = {}
        self.bias = 0.0

    def sample(self, number, left, width):
        """The scene on the map from a column on."""
        picture, turn = self.scenes[number]
        cos, sin = math.cos(turn), math.sin(turn)
        affine = cp.asarray([cos, -sin, left, sin, cos, 0.0], dtype=cp.float32)
        out = cp.empty((SIDE, width), cp.float32)
        grid = (width + BLOCK - 1) // BLOCK, (SIDE + BLOCK - 1) // BLOCK
        resample(grid, (BLOCK, BLOCK), (picture, affine, out, np.int32(width), np.int32(SIDE)))
        return out

    def add(self, number, picture, turn):
        """The scene on the map, as bright as the one before it."""
        self.scenes[number] = texture(picture), turn  # keeps
        if number > 0:
            west = self.sample(number - 1, SIDE - OVERLAP, OVERLAP)
            east = self.sample(number, 0, OVERLAP)
            self.bias = float(west.mean() - east.mean())
        return self.sample(number, 0, SIDE) + self.bias


def scene(number):
    """Dunes in the low sun."""
    x = cp.arange(SIDE, dtype=cp.float32)
    dunes = cp.sin(x[None, :] / (20 + number % 7) + cp.cos(x[:, None] / 90))
    return cp.ascontiguousarray(0.5 + 0.3 * dunes + 0.02 * cp.random.standard_normal((SIDE, SIDE), dtype=cp.float32))


def main():
    strip, number = Strip(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        placed = strip.add(number, scene(number), random.uniform(-0.02, 0.02))
        number += 1
        if number % 10 == 0:
            print(f"{number} scenes, the last of brightness {float(placed.mean()):.3f}", flush=True)
        time.sleep(random.uniform(0.15, 0.4))


if __name__ == "__main__":
    main()
