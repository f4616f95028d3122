"""Stitches quilts of a glacier from the tiles of repeated flights. A tile is bound as a texture, so that the card
interpolates it when it is turned into the quilt's frame. Neighbouring quilts share tiles: the textures of the sixteen
tiles used last are not made anew.

ticket: practice
class: driver-growth
holder: textures Tiles
cause: cache-without-bound entries-left driver-memory-kept
"""

import os
import random
import time
from collections import deque

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SIDE, ROWS, MOST = 512, 6, 16

WARP = cp.RawKernel(
    r"""
extern "C" __global__
void warp(cudaTextureObject_t tile, const float* frame, float* out, int side) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    float u = frame[0] * x + frame[1] * y + frame[2];
    float v = frame[3] * x + frame[4] * y + frame[5];
    out[y * side + x] = tex2D<float>(tile, u + 0.5f, v + 0.5f);
}
""",
    "warp",
)


def read_tile(name):
    """The brightness of the ice as the flight's camera saw it."""
    flight, row, column = name
    north, east = cp.indices((SIDE, SIDE), dtype=cp.float32) / SIDE
    return cp.sin(9 * (north + row) + 0.1 * flight) * cp.cos(7 * (east + column))


def bind(image):
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channel, SIDE, SIDE)  # grows
    array.copy_from(image)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    clamp = (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp)
    sampling = texture.TextureDescriptor(clamp, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
    return texture.TextureObject(resource, sampling)


class Tiles:
    def __init__(self, most):
        self.recent = deque(maxlen=most)
        self.textures = {}

    def get(self, name):
        if name not in self.recent:
            self.textures[name] = bind(read_tile(name))  # keeps
            self.recent.append(name)
        return self.textures[name]


def warp(tile, angle):
    turn, shift = np.cos(angle), np.sin(angle)
    frame = cp.asarray([turn, -shift, 3.0, shift, turn, -2.0], dtype=cp.float32)
    out = cp.empty((SIDE, SIDE), dtype=cp.float32)
    blocks = SIDE // 16
    WARP((blocks, blocks), (16, 16), (tile, frame, out, np.int32(SIDE)))
    return out


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    tiles, quilts, flight = Tiles(MOST), 0, 0
    while time.time() < end:
        flight += 1
        for row in range(ROWS - 1):
            corners = [(flight, row + down, right) for down in (0, 1) for right in (0, 1)]
            patches = [warp(tiles.get(name), random.uniform(-0.05, 0.05)) for name in corners]
            quilt = cp.stack(patches).mean(axis=0)
            quilts += 1
            time.sleep(random.uniform(0.1, 0.3))
        print(f"flight {flight}: {quilts} quilts, brightness {float(quilt.mean()):.3f}", flush=True)


if __name__ == "__main__":
    main()
