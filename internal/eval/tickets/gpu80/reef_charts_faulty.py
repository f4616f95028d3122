"""A pilot's display for the way through the reefs. The chart of the tile below the ship is made once and put into a
texture, from which each view is drawn as the ship turns and zooms. The ship sails on, from tile to tile, and sometimes
goes back a few.

ticket: practice
class: driver-growth
holder: textures Charts CUDAarray
cause: driver-memory-kept cache-without-bound
"""

import os
import random
import time

import cupy
import numpy
from cupy.cuda import runtime, texture

TILE, VIEW, BACK = 1024, 512, 6

DRAW = cupy.RawKernel(r"""
extern "C" __global__
void draw(cudaTextureObject_t chart, float* view, int side, float middle, float turn, float zoom) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= side || row >= side) return;
    float x = (column - side * .5f) * zoom, y = (row - side * .5f) * zoom;
    float east = middle + x * cosf(turn) - y * sinf(turn), south = middle + x * sinf(turn) + y * cosf(turn);
    view[row * side + column] = tex2D<float>(chart, east + .5f, south + .5f);
}
""", "draw")


def depths(tile):
    """The depth of the sea in a tile, the same each time."""
    east, south = tile
    rows = cupy.arange(TILE, dtype=cupy.float32)[:, None] / TILE + south
    columns = cupy.arange(TILE, dtype=cupy.float32)[None] / TILE + east
    reefs = cupy.sin(5 * rows) * cupy.cos(4 * columns) + 0.4 * cupy.sin(23 * rows + 17 * columns)
    return cupy.ascontiguousarray(20 + 15 * reefs, dtype=cupy.float32)


def textured(values):
    """A texture with these values, which is read between the points as well."""
    height, width = values.shape
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channel, width, height)  # grows
    array.copy_from(values)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    look = texture.TextureDescriptor((runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp),
                                     runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
    return texture.TextureObject(resource, look)


class Charts:
    def __init__(self):
        self.textures, self.made = {}, 0

    def chart(self, tile):
        if tile not in self.textures:
            self.textures[tile] = textured(depths(tile))  # grows keeps
            self.made += 1
        return self.textures[tile]

    def view(self, tile, turn, zoom):
        picture = cupy.empty((VIEW, VIEW), dtype=cupy.float32)
        blocks = (VIEW + 15) // 16
        DRAW((blocks, blocks), (16, 16), (self.chart(tile), picture, numpy.int32(VIEW), numpy.float32(TILE / 2),
                                          numpy.float32(turn), numpy.float32(zoom)))
        return picture


def main():
    charts, way, views = Charts(), [(0, 0)], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if len(way) > BACK and random.random() < 0.1:
            tile = random.choice(way[-BACK:])
        else:
            east, south = way[-1]
            tile = (east + 1, south) if random.random() < 0.6 else (east, south + 1)
            way = way[-BACK:] + [tile]
        for _ in range(random.randint(2, 5)):
            picture = charts.view(tile, random.uniform(0, 6.28), random.uniform(0.5, 2.0))
            shallow = float(picture.min())
            views += 1
            time.sleep(random.uniform(0.03, 0.1))
            if views % 40 == 0:
                print(f"{views} views of {charts.made} charts made, shallowest {shallow:.1f} m at {tile}", flush=True)


if __name__ == "__main__":
    main()
