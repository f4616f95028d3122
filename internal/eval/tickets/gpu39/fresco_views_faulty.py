"""Restorers walk through photographs of a fresco on a screen. For each photograph that comes from the scanner a texture
is made, and a kernel draws the views that the restorer asks for: turned, nearer, moved. Textures are used again for the
next views of the same photograph.

ticket: practice
class: driver-growth
holder: textures TextureObject CUDAarray Easel cuArr
cause: cache-without-bound driver-memory-kept
"""

import math
import os
import random
import time

import cupy
import numpy as np
from cupy.cuda import runtime, texture

WIDTH, HEIGHT, SCREEN, LATEST = 1280, 960, 512, 4

DRAW = cupy.RawKernel(r"""
extern "C" __global__
void draw(cudaTextureObject_t photo, float* view, int side, float cx, float cy, float turn, float scale) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    float u = (x - 0.5f * side) * scale, v = (y - 0.5f * side) * scale;
    float c = cosf(turn), s = sinf(turn);
    view[y * side + x] = tex2D<float>(photo, cx + c * u - s * v + 0.5f, cy + s * u + c * v + 0.5f);
}
""", "draw")


def make_texture(photo):
    """A texture with a CUDA array of its own, which is read with linear filtering."""
    kind = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(kind, WIDTH, HEIGHT)  # grows
    array.copy_from(photo)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    reading = texture.TextureDescriptor(
        (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp),
        runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType,
    )
    return texture.TextureObject(resource, reading)


class Easel:
    def __init__(self):
        self.textures, self.photos, self.views = {}, 0, 0

    def scan(self, random_state):
        """The next photograph from the scanner: plaster with broad strokes."""
        self.photos += 1
        plaster = random_state.random((HEIGHT, WIDTH), dtype=cupy.float32)
        strokes = cupy.sin(cupy.arange(WIDTH, dtype=cupy.float32) / (7 + self.photos % 5))
        photo = 0.3 * plaster + 0.7 * strokes[None, :]
        self.textures[self.photos] = make_texture(photo)  # keeps
        return self.photos

    def view(self, number, turn, scale):
        picture = cupy.empty((SCREEN, SCREEN), dtype=cupy.float32)
        place = np.float32(random.uniform(0, WIDTH)), np.float32(random.uniform(0, HEIGHT))
        DRAW((SCREEN // 16, SCREEN // 16), (16, 16), (
            self.textures[number], picture, np.int32(SCREEN), *place, np.float32(turn), np.float32(scale)
        ))
        self.views += 1
        return float(picture.mean())


def main():
    easel, random_state = Easel(), cupy.random.default_rng(3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        newest = easel.scan(random_state)
        for _ in range(random.randint(1, 3)):
            number = random.randint(max(1, newest - LATEST + 1), newest)
            light = easel.view(number, random.uniform(-math.pi, math.pi), random.uniform(0.3, 1.5))
            time.sleep(0.05)
        if newest % 20 == 0:
            print(f"{newest} photographs, {easel.views} views, the last one's light is {light:.3f}", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
