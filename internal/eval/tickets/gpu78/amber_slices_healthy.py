"""Slices of amber pass a simulated scanner, one after the other. Each slice is put into a texture, for the hardware
interpolates between its points; it is X-rayed from several sides, with a few angles at a time, and the strongest
shadow tells whether an insect is inside.

ticket: practice
class: none
"""

import math
import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SIDE, RAYS, ANGLES, PARTS = 704, 512, 24, 4

XRAY = cp.RawKernel(r"""
extern "C" __global__ void xray(cudaTextureObject_t slice, const float* angles, float* shadow, int side, int rays) {
    int ray = blockIdx.x * blockDim.x + threadIdx.x;
    if (ray >= rays) return;
    float c = cosf(angles[blockIdx.y]), s = sinf(angles[blockIdx.y]);
    float across = ((ray + 0.5f) / rays - 0.5f) * side, sum = 0.0f;
    for (int step = 0; step < side; ++step) {
        float along = step + 0.5f - 0.5f * side;
        sum += tex2D<float>(slice, 0.5f * side + c * across - s * along, 0.5f * side + s * across + c * along);
    }
    shadow[blockIdx.y * rays + ray] = sum / side;
}
""", "xray")


def cut_slice():
    """A round slice of amber, often with an insect: a small dense spot."""
    line = cp.arange(SIDE, dtype=cp.float32) / SIDE - 0.5
    y, x = line[:, None], line[None, :]
    amber = (x * x + y * y < 0.2).astype(cp.float32)
    if random.random() < 0.6:
        left, top = random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2)
        amber += 6 * cp.exp(-((x - left) ** 2 + (y - top) ** 2) / 0.0004)
    return cp.ascontiguousarray(amber, dtype=cp.float32)


class Scanner:
    """The slices on the table, by number, and the X-rays through them."""

    def __init__(self):
        self.slices = {}
        self.channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        self.sampling = texture.TextureDescriptor((runtime.cudaAddressModeBorder,) * 2, runtime.cudaFilterModeLinear,
                                                  runtime.cudaReadModeElementType)

    def load(self, number, amber):
        array = texture.CUDAarray(self.channel, SIDE, SIDE)
        array.copy_from(amber)
        resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
        self.slices[number] = texture.TextureObject(resource, self.sampling)

    def unload(self, number):
        del self.slices[number]

    def xray(self, number, angles):
        shadow = cp.empty((len(angles), RAYS), cp.float32)
        blocks = (RAYS + 127) // 128, len(angles)
        XRAY(blocks, (128,), (self.slices[number], angles, shadow, np.int32(SIDE), np.int32(RAYS)))
        return shadow


def scan(scanner, number):
    """The strongest shadow of the slice, over all the angles."""
    scanner.load(number, cut_slice())
    angles = cp.asarray(np.linspace(0, math.pi, ANGLES, endpoint=False), cp.float32)
    strongest = 0.0
    for part in cp.split(angles, PARTS):
        strongest = max(strongest, float(scanner.xray(number, part).max()))
        time.sleep(0.02)
    scanner.unload(number)
    return strongest


def main():
    scanner, insects, number = Scanner(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        insects += scan(scanner, number) > 0.95
        number += 1
        if number % 20 == 0:
            print(f"{number} slices, {insects} with an insect", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
