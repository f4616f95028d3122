"""A feature store for boats in a fjord: how deep is the water at these places, at this hour? The depth of each tile is
worked out for the hour and put into a texture, as the texture unit interpolates between the grid points for nothing.
The texture of each tile is cached until the hour is over, so that only the first question of an hour has to wait.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SIDE, TILES, PLACES, HOUR = 896, 6, 2048, 1.2

SAMPLE = cp.RawKernel(r"""
extern "C" __global__ void sample(cudaTextureObject_t tile, const float* places, float* depths, int count) {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < count)
        depths[place] = tex2D<float>(tile, places[2 * place] + 0.5f, places[2 * place + 1] + 0.5f);
}
""", "sample")


def make_texture(grid):
    """A texture that interpolates the grid and holds its borders."""
    rows, columns = grid.shape
    channels = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channels, columns, rows)
    array.copy_from(grid)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    clamp = runtime.cudaAddressModeClamp
    reading = texture.TextureDescriptor((clamp, clamp), runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
    return texture.TextureObject(resource, reading)


class DepthStore:
    def __init__(self):
        self.ground = [self.survey(tile) for tile in range(TILES)]
        self.textures = {}
        self.made = 0

    @staticmethod
    def survey(tile):
        """The ground of a tile: a valley with some rocks in it."""
        across = cp.linspace(-1, 1, SIDE, dtype=cp.float32)
        rocks = cp.random.random((SIDE, SIDE), dtype=cp.float32)
        return 300 * (1 - across**2)[None, :] - 4 * rocks + 10 * tile

    def depths(self, tile, hour):
        """The grid of one tile with the tide of the hour."""
        tide = 1.5 * np.sin(2 * np.pi * hour / 12.4)
        slope = cp.linspace(0, 0.2, SIDE, dtype=cp.float32)[:, None]
        return cp.ascontiguousarray(self.ground[tile] + slope + np.float32(tide))

    def texture(self, tile, hour):
        if tile not in self.textures or self.textures[tile][0] != hour:
            self.made += 1
            self.textures[tile] = hour, make_texture(self.depths(tile, hour))
        return self.textures[tile][1]

    def lookup(self, tile, hour, places):
        found = cp.empty(len(places), dtype=cp.float32)
        blocks = (len(places) + 255) // 256
        SAMPLE((blocks,), (256,), (self.texture(tile, hour), places, found, np.int32(len(places))))
        return found


def main():
    store, questions, start = DepthStore(), 0, time.time()
    end = start + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        hour = int((time.time() - start) / HOUR)
        places = cp.random.random((PLACES, 2), dtype=cp.float32) * (SIDE - 1)
        found = store.lookup(random.randrange(TILES), hour, places)
        shallow = int((found < 20).sum())
        questions += 1
        if questions % 40 == 0:
            print(f"hour {hour}: {questions} questions, {store.made} textures made, {shallow} shallow", flush=True)
        time.sleep(random.uniform(0.02, 0.1))


if __name__ == "__main__":
    main()
