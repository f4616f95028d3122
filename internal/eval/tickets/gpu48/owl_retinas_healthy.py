"""Shows how an owl sees: the eye jumps over a picture, and at each place where it rests the picture is sampled on
rings that grow with the distance. The picture lies in a texture, which interpolates and is made once for all the
jumps over it.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.texture import ChannelFormatDescriptor, CUDAarray, ResourceDescriptor, TextureDescriptor, TextureObject

HEIGHT, WIDTH = 768, 1024
RINGS, RAYS = 96, 256
JUMPS, RECENT = 4, 4

sample_rings = cp.RawKernel(
    r"""
    extern "C" __global__
    void sample_rings(float* seen, cudaTextureObject_t picture, float row, float column, int rings, int rays)
    {
        int i = blockDim.x * blockIdx.x + threadIdx.x;
        if (i >= rings * rays) return;
        float far = 1.5f * __expf(0.06f * (i / rays));
        float angle = 6.2831853f * (i % rays) / rays;
        seen[i] = tex2D<float>(picture, column + far * __cosf(angle), row + far * __sinf(angle));
    }
    """,
    "sample_rings",
)


def make_texture(picture):
    height, width = picture.shape
    channels = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = CUDAarray(channels, width, height)
    array.copy_from(picture)
    edges = (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp)
    resource = ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    return TextureObject(resource, TextureDescriptor(edges, runtime.cudaFilterModeLinear))


class Eye:
    def __init__(self):
        self.textures = {}
        self.seen = cp.zeros((RINGS, RAYS), cp.float32)

    def texture(self, number, picture):
        if number not in self.textures:
            self.textures[number] = make_texture(picture)
            self.textures.pop(number - RECENT, None)
        return self.textures[number]

    def look(self, number, picture, row, column):
        """What the eye sees there, and how much it finds in it."""
        texture = self.texture(number, picture)
        threads = 128
        blocks = (RINGS * RAYS + threads - 1) // threads
        place = np.float32(row), np.float32(column)
        sample_rings((blocks,), (threads,), (self.seen, texture, *place, np.int32(RINGS), np.int32(RAYS)))
        return float(self.seen[:24].std())


def night():
    """A field at night, with some mice in it."""
    picture = 0.1 * cp.random.random((HEIGHT, WIDTH), dtype=cp.float32)
    for _ in range(6):
        row, column = random.randrange(HEIGHT - 12), random.randrange(WIDTH - 12)
        picture[row : row + 12, column : column + 12] += 0.8
    return picture


def main():
    eye, number, found = Eye(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        picture = night()
        row, column = HEIGHT / 2, WIDTH / 2
        for _ in range(JUMPS):
            interest = eye.look(number, picture, row, column)
            found += interest > 0.1
            step = 40 if interest > 0.1 else 200
            row = min(max(row + random.uniform(-step, step), 0), HEIGHT - 1)
            column = min(max(column + random.uniform(-step, step), 0), WIDTH - 1)
            time.sleep(0.04)
        number += 1
        if number % 20 == 0:
            print(f"picture {number}: something seen {found} times", flush=True)


if __name__ == "__main__":
    main()
