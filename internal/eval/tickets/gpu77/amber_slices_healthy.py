"""Simulates X-ray pictures of insects in amber. The slices of a stone come one after the other, each becomes a texture,
because the GPU interpolates in these for nothing, and a kernel sums along rays under some angles. A slice is blended
with the one before, so textures are kept at hand by the number of the slice.

ticket: practice
class: none
"""

import math
import os
import random
import time

import cupy as cp
from cupy.cuda import runtime, texture

SIZE, ANGLES = 1024, 6

PROJECT = cp.RawKernel(r"""
extern "C" __global__
void project(cudaTextureObject_t slice, cudaTextureObject_t before, float angle, int size, float* sums) {
    int ray = blockIdx.x * blockDim.x + threadIdx.x;
    if (ray >= size) return;
    float half = 0.5f * size, across = ray + 0.5f - half, sum = 0.0f;
    float c = cosf(angle), s = sinf(angle);
    for (int step = 0; step < size; ++step) {
        float along = step + 0.5f - half;
        float x = half + across * c - along * s, y = half + across * s + along * c;
        sum += 0.7f * tex2D<float>(slice, x, y) + 0.3f * tex2D<float>(before, x, y);
    }
    sums[ray] = sum / size;
}
""", "project")


class Stone:
    """A piece of amber: round, a little cloudy, with some dark grains inside."""

    def __init__(self):
        axis = cp.linspace(-1, 1, SIZE, dtype=cp.float32)
        self.x, self.y = axis[None, :], axis[:, None]
        self.round = (self.x ** 2 + self.y ** 2 < 0.8).astype(cp.float32)
        self.textures = {}

    def slice(self, number):
        cloud = 1 + 0.2 * cp.sin(7 * self.x + 0.1 * number) * cp.cos(5 * self.y)
        column, row = 0.5 * math.sin(0.05 * number), 0.4 * math.cos(0.03 * number)
        grain = cp.exp(-300 * ((self.x - column) ** 2 + (self.y - row) ** 2))
        return cp.ascontiguousarray(self.round * cloud + 3 * grain, dtype=cp.float32)

    def layer(self, number):
        if number not in self.textures:
            channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
            array = texture.CUDAarray(channel, SIZE, SIZE)
            array.copy_from(self.slice(number))
            resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
            sampling = texture.TextureDescriptor((runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp),
                                                 runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
            self.textures[number] = texture.TextureObject(resource, sampling)
            self.textures.pop(number - 2, None)
        return self.textures[number]


def project(stone, number):
    """The sums along the rays through a slice, under each of the angles."""
    sums = cp.empty((ANGLES, SIZE), dtype=cp.float32)
    now, before = stone.layer(number), stone.layer(number - 1)
    for i in range(ANGLES):
        angle = cp.float32(math.pi * i / ANGLES)
        PROJECT(((SIZE + 127) // 128,), (128,), (now, before, angle, cp.int32(SIZE), sums[i]))
    return cp.asnumpy(sums)


def main():
    stone, number, darkest = Stone(), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        sums = project(stone, number)
        darkest = max(darkest, float(sums.max()))
        if number % 20 == 0:
            print(f"slice {number}: mean {sums.mean():.4f}, darkest ray so far {darkest:.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
