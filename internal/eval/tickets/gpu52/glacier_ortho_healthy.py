"""Lays the photos of a drone that flies in strips over a glacier onto one map. Each photo is bound as a texture, so
that the hardware interpolates, and a kernel adds it to the map where the drone was. Kernels run on while the next photo
is read; a texture must live until its kernel has run.

ticket: practice
class: none
"""

import math
import os
import time

import cupy
import numpy as np
from cupy.cuda import runtime, texture

WIDTH, HEIGHT, SIDE, STRIP = 1024, 768, 2048, 6

ADD = cupy.RawKernel(r"""
extern "C" __global__ void add(cudaTextureObject_t photo, float* sums, float* counts, int side, int width, int height,
                               float left, float top, float c, float s) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= side || row >= side) return;
    float x = column - left, y = row - top;
    float u = c * x + s * y + 0.5f * width, v = -s * x + c * y + 0.5f * height;
    if (u < 0.0f || v < 0.0f || u >= width || v >= height) return;
    sums[row * side + column] += tex2D<float>(photo, u + 0.5f, v + 0.5f);
    counts[row * side + column] += 1.0f;
}
""", "add")


class Drone:
    def __init__(self):
        self.random = np.random.default_rng(3)
        rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
        self.ice = 0.6 + 0.2 * np.sin(columns / 37) * np.cos(rows / 51)
        self.strips = 0

    def strip(self):
        """The photos of a strip, each with its place and heading."""
        self.strips += 1
        top = float(self.random.uniform(400, SIDE - 400))
        for number in range(STRIP):
            left = 300.0 + number * (SIDE - 600) / (STRIP - 1)
            grain = self.random.standard_normal((HEIGHT, WIDTH), dtype=np.float32)
            yield (self.ice + 0.05 * grain).astype(np.float32), left, top, float(self.random.normal(0, 0.1))


class Mosaic:
    def __init__(self):
        self.sums = cupy.zeros((SIDE, SIDE), cupy.float32)
        self.counts = cupy.zeros((SIDE, SIDE), cupy.float32)
        self.bound = []

    def bind(self, photo):
        channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        array = texture.CUDAarray(channel, WIDTH, HEIGHT)
        array.copy_from(photo)
        resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
        edges = (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp)
        reading = texture.TextureDescriptor(edges, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
        return texture.TextureObject(resource, reading)

    def add(self, photo, left, top, heading):
        picture = self.bind(photo)
        self.bound.append(picture)
        blocks = (SIDE // 16, SIDE // 16)
        extents = np.int32([SIDE, WIDTH, HEIGHT])
        numbers = np.float32([left, top, math.cos(heading), math.sin(heading)])
        ADD(blocks, (16, 16), (picture, self.sums, self.counts, *extents, *numbers))

    def finish_strip(self):
        """Wait for the strip's kernels; the share of the map that is covered and its brightness are returned."""
        cupy.cuda.get_current_stream().synchronize()
        self.bound.clear()
        covered = self.counts > 0
        return float(covered.mean()), float(self.sums.sum() / self.counts.sum())


def main():
    drone, mosaic = Drone(), Mosaic()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for photo, left, top, heading in drone.strip():
            mosaic.add(photo, left, top, heading)
            time.sleep(0.12)
        covered, brightness = mosaic.finish_strip()
        print(f"strip {drone.strips}: {100 * covered:.0f} % covered, brightness {brightness:.3f}", flush=True)


if __name__ == "__main__":
    main()
