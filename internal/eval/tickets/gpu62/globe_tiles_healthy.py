"""A planetarium shows the latest survey of a moon as a globe. A survey comes as a map of longitude and latitude and
goes into a texture, so that the device wraps it round and smooths it. The globe is then drawn from it at an angle, and
so are the few surveys before it, because the visitors like to see what has changed.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
from cupy.cuda import runtime
from cupy.cuda.texture import (
    ChannelFormatDescriptor,
    CUDAarray,
    ResourceDescriptor,
    TextureDescriptor,
    TextureObject,
)

WIDTH, HEIGHT, VIEW, RECENT = 1536, 768, 400, 4

DRAW = cp.RawKernel(
    r"""
extern "C" __global__ void draw(cudaTextureObject_t sheet, float turn, int size, float* view) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= size || row >= size) return;
    float x = 2.0f * column / size - 1.0f, y = 2.0f * row / size - 1.0f, rest = 1.0f - x * x - y * y;
    float shade = 0.0f;
    if (rest > 0.0f) {
        float longitude = atan2f(x, sqrtf(rest)) * 0.15915494f + turn, latitude = asinf(y) * 0.31830989f + 0.5f;
        shade = tex2D<float>(sheet, longitude, latitude) * sqrtf(rest);
    }
    view[row * size + column] = shade;
}
""",
    "draw",
)


class Planetarium:
    def __init__(self):
        self.format = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        modes = (runtime.cudaAddressModeWrap, runtime.cudaAddressModeClamp)
        self.reading = TextureDescriptor(
            modes, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType, normalizedCoords=1
        )
        self.view = cp.zeros((VIEW, VIEW), cp.float32)
        self.sheets = {}

    def receive(self, survey, heights):
        memory = CUDAarray(self.format, WIDTH, HEIGHT)
        memory.copy_from(heights)
        resource = ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=memory)
        self.sheets[survey] = TextureObject(resource, self.reading)
        self.sheets.pop(survey - RECENT, None)

    def draw(self, survey, turn):
        blocks = (VIEW + 15) // 16
        DRAW((blocks, blocks), (16, 16), (self.sheets[survey], cp.float32(turn), cp.int32(VIEW), self.view))
        return float(self.view.mean())


def scan():
    """Heights of the moon's surface: coarse hills and fine roughness."""
    hills = cp.random.random((HEIGHT // 32, WIDTH // 32), dtype=cp.float32)
    hills = cp.repeat(cp.repeat(hills, 32, axis=0), 32, axis=1)
    return cp.ascontiguousarray(hills + 0.1 * cp.random.random((HEIGHT, WIDTH), dtype=cp.float32))


def main():
    planetarium, survey = Planetarium(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        planetarium.receive(survey, scan())
        for shown in range(max(0, survey - RECENT + 1), survey + 1):
            bright = planetarium.draw(shown, random.random())
        if survey % 10 == 0:
            print(f"survey {survey}: brightness {bright:.4f}", flush=True)
        survey += 1
        time.sleep(random.uniform(0.15, 0.35))


if __name__ == "__main__":
    main()
