"""Marble veneers of any size are made from photographs of slabs. A kernel walks over the veneer and mixes what it
finds at warped places of the slab, read through a texture, which does the interpolation and wraps around at the
edges. Several veneers are cut from each slab before the next one comes from the quarry and takes its place.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SLAB, VENEER, OCTAVES = 1024, 768, 4

VEINS = cp.RawKernel(r"""
extern "C" __global__
void veins(float* veneer, cudaTextureObject_t slab, int width, int height, int octaves, float turn, float shift) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = (x + 0.5f) / width, v = (y + 0.5f) / height, weight = 0.5f, sum = 0.0f;
    for (int octave = 0; octave < octaves; ++octave) {
        float found = tex2D<float>(slab, u + shift, v - shift);
        sum += weight * found;
        float s = sinf(turn), c = cosf(turn);
        float warped = c * u - s * v + 0.1f * found;
        v = s * u + c * v + 0.1f * found;
        u = warped;
        weight *= 0.5f;
    }
    veneer[y * width + x] = sum;
}
""", "veins")


class Quarry:
    """The slab at hand as a texture, so that each goes to the device only once."""

    def __init__(self):
        self.name = None
        channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        self.array = texture.CUDAarray(channel, SLAB, SLAB)
        resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=self.array)
        reading = texture.TextureDescriptor(
            (runtime.cudaAddressModeWrap, runtime.cudaAddressModeWrap),
            runtime.cudaFilterModeLinear,
            runtime.cudaReadModeElementType,
            normalizedCoords=1,
        )
        self.texture = texture.TextureObject(resource, reading)

    def slab(self, name, photograph):
        if name != self.name:
            self.array.copy_from(photograph)
            self.name = name
        return self.texture


def cut(slab):
    veneer = cp.empty((VENEER, VENEER), dtype=cp.float32)
    turn, shift = np.float32(random.uniform(0, 3)), np.float32(random.random())
    size, grid = np.int32(VENEER), ((VENEER + 15) // 16, (VENEER + 15) // 16)
    VEINS(grid, (16, 16), (veneer, slab, size, size, np.int32(OCTAVES), turn, shift))
    return veneer


def photograph(number):
    """The slab as the camera sees it: bands of colour, and grain."""
    generator = np.random.default_rng(number)
    bands = np.sin(np.linspace(0, generator.uniform(10, 60), SLAB, dtype=np.float32))
    return bands[None, :] * bands[:, None] + 0.1 * generator.random((SLAB, SLAB), dtype=np.float32)


def main():
    quarry, number = Quarry(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        picture = photograph(number).astype(np.float32)
        contrasts = []
        for _ in range(random.randint(2, 5)):
            veneer = cut(quarry.slab(f"slab-{number}", picture))
            contrasts.append(float(veneer.std()))
            time.sleep(random.uniform(0.03, 0.1))
        if number % 20 == 0:
            print(f"{number} slabs, the contrast of the last is {max(contrasts):.3f}", flush=True)


if __name__ == "__main__":
    main()
