"""Looks for a faint comet on a night's photographic plates. Each plate becomes a texture, so that it can be read
between its pixels; after every plate the newest eight are turned and shifted along the comet's assumed path and summed,
and the brightest spot of the sum is reported.

ticket: practice
class: none
"""

import math
import os
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SIDE, DEPTH = 1024, 8
SPEED, TURN = (1.7, -0.9), 0.0015
BLOCK = (16, 16)

RESAMPLE = cp.RawKernel(r"""
extern "C" __global__
void resample(cudaTextureObject_t plate, float* total, float across, float down, float cosine, float sine, int side) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    float centre = 0.5f * side;
    float dx = x - centre, dy = y - centre;
    float u = cosine * dx - sine * dy + centre + across;
    float v = sine * dx + cosine * dy + centre + down;
    total[y * side + x] += tex2D<float>(plate, u + 0.5f, v + 0.5f);
}
""", "resample")


def texture_of(image):
    """A texture of one plate, with linear interpolation."""
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channel, SIDE, SIDE)
    array.copy_from(image)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    reading = texture.TextureDescriptor((runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp),
                                        runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
    return texture.TextureObject(resource, reading)


class Camera:
    def __init__(self):
        self.random = np.random.default_rng(8)
        self.sky = self.random.standard_normal((SIDE, SIDE), dtype=np.float32)

    def expose(self, number):
        plate = self.sky + 0.5 * self.random.standard_normal((SIDE, SIDE), dtype=np.float32)
        x, y = int(300 + SPEED[0] * number) % SIDE, int(700 + SPEED[1] * number) % SIDE
        plate[y, x] += 3
        return plate


class Plates:
    def __init__(self):
        self.textures = {}
        self.total = cp.zeros((SIDE, SIDE), dtype=cp.float32)

    def add(self, number, image):
        self.textures.pop(number - DEPTH, None)
        self.textures[number] = texture_of(image)

    def stack(self, newest):
        """The sum of the newest plates, as the comet sees them."""
        self.total.fill(0)
        blocks = (SIDE + BLOCK[0] - 1) // BLOCK[0], (SIDE + BLOCK[1] - 1) // BLOCK[1]
        for number in range(max(0, newest - DEPTH + 1), newest + 1):
            age = number - newest
            RESAMPLE(blocks, BLOCK, (self.textures[number], self.total, np.float32(SPEED[0] * age),
                                     np.float32(SPEED[1] * age), np.float32(math.cos(TURN * age)),
                                     np.float32(math.sin(TURN * age)), np.int32(SIDE)))
        return self.total


def main():
    camera, plates, number = Camera(), Plates(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        plates.add(number, camera.expose(number))
        total = plates.stack(number)
        if number % 10 == 0:
            row, column = divmod(int(total.argmax()), SIDE)
            print(f"plate {number}: brightest at {column}, {row} with {float(total.max()):.1f}", flush=True)
        number += 1
        time.sleep(0.15)


if __name__ == "__main__":
    main()
