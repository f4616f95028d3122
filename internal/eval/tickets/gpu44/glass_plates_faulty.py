"""Registers scanned glass plates of an observatory with the catalogue picture of their field. A plate is put in texture
memory, so that it can be sampled under a small turn at no cost, and a few turns are tried for it; the best one is
noted. A plate may be asked for again shortly after, so the store has its texture at hand.

ticket: practice
class: driver-growth
holder: textures PlateStore TextureObject CUDAarray
cause: driver-memory-kept cache-without-bound handle-leak
"""

import math
import os
import random
import time
from collections import OrderedDict
from dataclasses import dataclass

import cupy as cp
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.texture import (
    ChannelFormatDescriptor, CUDAarray, ResourceDescriptor, TextureDescriptor, TextureObject)

TURN = cp.RawKernel(r"""
extern "C" __global__
void turn(cudaTextureObject_t plate, float* out, int width, int height, float sine, float cosine)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = x - 0.5f * width, v = y - 0.5f * height;
    out[y * width + x] = tex2D<float>(plate, cosine * u - sine * v + 0.5f * width + 0.5f,
                                      sine * u + cosine * v + 0.5f * height + 0.5f);
}
""", "turn")


@dataclass(frozen=True)
class Plate:
    number: int
    width: int = 1280
    height: int = 1024

    def scan(self):
        stars = cp.random.random((self.height, self.width), dtype=cp.float32)
        return cp.where(stars > 0.999, stars, 0.05 * stars)


class PlateStore:
    def __init__(self):
        self.format = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        self.textures = OrderedDict()

    def load(self, plate):
        array = CUDAarray(self.format, plate.width, plate.height)  # grows
        array.copy_from(cp.ascontiguousarray(plate.scan()))
        resource = ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
        edges = (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp)
        sampling = TextureDescriptor(edges, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
        return TextureObject(resource, sampling)

    def texture(self, plate):
        if plate not in self.textures:
            self.textures[plate] = self.load(plate)  # keeps
        self.textures.move_to_end(plate)
        return self.textures[plate]


class Registration:
    def __init__(self, store, turns=(-0.02, -0.01, 0.0, 0.01, 0.02)):
        self.store, self.turns = store, turns

    def sample(self, plate, turn):
        out = cp.empty((plate.height, plate.width), dtype=cp.float32)
        block = (32, 8)
        grid = ((plate.width + 31) // 32, (plate.height + 7) // 8)
        sine, cosine = np.float32(math.sin(turn)), np.float32(math.cos(turn))
        args = self.store.texture(plate), out, np.int32(plate.width), np.int32(plate.height)
        TURN(grid, block, (*args, sine, cosine))
        return out

    def best(self, plate, catalogue):
        return max(self.turns, key=lambda turn: float((self.sample(plate, turn) * catalogue).sum()))


def main():
    registration, catalogue = Registration(PlateStore()), Plate(0).scan()
    number, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        asked = number if number < 3 or random.random() < 0.8 else number - random.randint(1, 2)
        turn = registration.best(Plate(asked), catalogue)
        if number % 20 == 0:
            print(f"plate {asked}: turned by {turn:+.2f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
