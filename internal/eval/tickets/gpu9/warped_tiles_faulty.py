"""Views of a map are drawn, turned and scaled, out of tiles that lie on the device as textures, which have memory of
their own outside of cupy's pool. A tile that was drawn once stays, though the view moves on. It needs a GPU.

ticket: practice
class: driver-growth
holder: textures
cause: cache-without-bound handle-leak
"""

import collections
import math
import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SIDE, VIEW = 1024, 768
DRAW = cp.RawKernel(r"""
extern "C" __global__ void draw(float* out, cudaTextureObject_t tile, int view, float left, float top, float c, float s)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= view || y >= view) return;
    float u = left + c * x - s * y, v = top + s * x + c * y;
    if (u >= 0 && v >= 0 && u < 1024 && v < 1024) out[y * view + x] = tex2D<float>(tile, u + 0.5f, v + 0.5f);
}
""", "draw")


def heights(column, row):
    """The land of a tile."""
    source = np.random.default_rng((abs(column), abs(row), column < 0, row < 0))
    coarse = source.random((33, 33), dtype=np.float32)
    fine = np.kron(coarse, np.ones((32, 32), np.float32))[:SIDE, :SIDE]
    return np.ascontiguousarray((fine + np.roll(fine, 16, 0) + np.roll(fine, 16, 1)) / 3)


class Map:
    """Tiles by column and row, and the views of them."""

    def __init__(self):
        self.textures = collections.OrderedDict()
        self.made = 0

    def tile(self, column, row):
        place = column, row
        if place not in self.textures:
            kind = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
            land = texture.CUDAarray(kind, SIDE, SIDE)  # grows
            land.copy_from(heights(column, row))
            what = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=land)
            how = texture.TextureDescriptor((runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModeLinear,
                                            runtime.cudaReadModeElementType)
            self.textures[place] = texture.TextureObject(what, how)  # keeps
            self.made += 1
        self.textures.move_to_end(place)
        return self.textures[place]

    def view(self, x, y, turn, scale):
        """A picture whose first corner is at x, y."""
        out = cp.zeros((VIEW, VIEW), cp.float32)
        c, s = scale * math.cos(turn), scale * math.sin(turn)
        corners = [(x + c * a - s * b, y + s * a + c * b) for a in (0, VIEW) for b in (0, VIEW)]
        columns, rows = ([math.floor(v / SIDE) for v in side] for side in zip(*corners))
        for column in range(min(columns), max(columns) + 1):
            for row in range(min(rows), max(rows) + 1):
                DRAW((VIEW // 16, VIEW // 16), (16, 16),
                     (out, self.tile(column, row), np.int32(VIEW), np.float32(x - column * SIDE),
                      np.float32(y - row * SIDE), np.float32(c), np.float32(s)))
        return out


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    world, views = Map(), 0
    x = y = heading = 0.0
    while time.time() < end:
        heading += random.gauss(0, 0.1)
        x, y = x + 230 * math.cos(heading), y + 230 * math.sin(heading)
        picture = world.view(x, y, random.gauss(0, 0.2), random.uniform(0.7, 1.1))
        shade = (picture[1:, 1:] - picture[:-1, :-1]).clip(-1, 1)
        level = float(shade.std())
        views += 1
        if views % 50 == 0:
            print(views, "views", world.made, "tiles made, shade", round(level, 4), flush=True)
            time.sleep(random.uniform(0, 0.5))
        time.sleep(random.uniform(0.03, 0.08))


if __name__ == "__main__":
    main()
