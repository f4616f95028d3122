"""Where will the sand slide? Hikers ask for the way ahead of them, and get the steepest slope along it. The heights of
the dunes are in tiles; the device's texture units read between the grid points for nothing, so a tile becomes a texture
when it is first asked for. The wind moves the sand: a tile is known by its place and by the survey that it is from.

ticket: practice
class: none
"""

import os
import random
import time
from collections import OrderedDict

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SIDE, POINTS, PLACES = 640, 4096, 3
SURVEY = 0.5
KEPT = 12

WALK = cp.RawKernel(r"""
extern "C" __global__
void walk(float* slopes, cudaTextureObject_t heights, float row, float column, float turn, float reach, int points) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= points) return;
    float way = reach * i / points;
    float x = column + way * cosf(turn), y = row + way * sinf(turn);
    float east = tex2D<float>(heights, x + 1.5f, y + 0.5f) - tex2D<float>(heights, x - 0.5f, y + 0.5f);
    float south = tex2D<float>(heights, x + 0.5f, y + 1.5f) - tex2D<float>(heights, x + 0.5f, y - 0.5f);
    slopes[i] = 0.5f * sqrtf(east * east + south * south);
}
""", "walk")


def heights(place, survey):
    """The dunes of a tile, as the survey has found them."""
    rows, columns = cp.mgrid[:SIDE, :SIDE].astype(cp.float32)
    ridges = cp.sin(rows / 40 + 0.1 * survey + sum(place)) * cp.cos(columns / 55 - 0.07 * survey)
    return cp.ascontiguousarray(20 * ridges + 0.1 * cp.random.standard_normal((SIDE, SIDE), dtype=cp.float32))


def to_texture(grid):
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channel, SIDE, SIDE)
    array.copy_from(grid)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    clamp = (runtime.cudaAddressModeClamp,) * 2
    reading = texture.TextureDescriptor(clamp, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
    return texture.TextureObject(resource, reading)


class Dunes:
    def __init__(self):
        self.textures = OrderedDict()
        self.made = self.found = 0

    def tile(self, place, survey):
        key = place, survey
        if key in self.textures:
            self.found += 1
            self.textures.move_to_end(key)
        else:
            self.textures[key] = to_texture(heights(place, survey))
            self.made += 1
            if len(self.textures) > KEPT:
                self.textures.popitem(last=False)
        return self.textures[key]

    def steepest(self, place, survey):
        """The steepest slope on a straight way from somewhere in the tile."""
        tile, slopes = self.tile(place, survey), cp.empty(POINTS, cp.float32)
        start = np.random.uniform(0, SIDE, size=2).astype(np.float32)
        turn, reach = np.float32(random.uniform(0, 2 * np.pi)), np.float32(200)
        WALK((POINTS // 256,), (256,), (slopes, tile, start[0], start[1], turn, reach, np.int32(POINTS)))
        return float(slopes.max())


def main():
    dunes, asked, steep = Dunes(), 0, 0
    start = time.time()
    end = start + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        place = random.randrange(PLACES), random.randrange(PLACES)
        survey = int((time.time() - start) / SURVEY)
        steep += dunes.steepest(place, survey) > 0.6
        asked += 1
        if asked % 100 == 0:
            print(f"{asked} hikers, {steep} steep ways, {dunes.made} tiles made, {dunes.found} found", flush=True)
        time.sleep(random.uniform(0.01, 0.06))


if __name__ == "__main__":
    main()
