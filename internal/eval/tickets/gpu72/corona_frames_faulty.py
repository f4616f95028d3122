"""Lays the frames of the solar corona, taken during an eclipse, one over the other. A frame goes into a texture, which
can be read between its pixels; the shift at which it fits best on the mean picture is searched in small steps, and the
mean follows. The spread of the last dozen shifts is printed.

ticket: practice
class: driver-growth
holder: aligned Frame texture
cause: driver-memory-kept buffer-without-bound
"""

import os
import time

import cupy
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.texture import (
    ChannelFormatDescriptor, CUDAarray, ResourceDescriptor, TextureDescriptor, TextureObject,
)

SIDE, BLOCK, LATEST = 1024, 16, 12

SAMPLE = cupy.RawKernel(r"""
extern "C" __global__
void sample(cudaTextureObject_t frame, float* out, int side, float right, float down) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < side && y < side) {
        out[y * side + x] = tex2D<float>(frame, x + 0.5f + right, y + 0.5f + down);
    }
}
""", "sample")


class Frame:
    """A frame in a texture that interpolates, and its shift against the mean picture."""

    def __init__(self, pixels):
        channel = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        array = CUDAarray(channel, SIDE, SIDE)  # grows
        array.copy_from(pixels)
        clamp = (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp)
        self.texture = TextureObject(
            ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array),
            TextureDescriptor(clamp, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType),
        )
        self.shift = (0.0, 0.0)

    def sample(self, right, down):
        out = cupy.empty((SIDE, SIDE), dtype=cupy.float32)
        blocks = (SIDE // BLOCK, SIDE // BLOCK)
        SAMPLE(blocks, (BLOCK, BLOCK), (self.texture, out, np.int32(SIDE), np.float32(right), np.float32(down)))
        return out

    def align(self, mean):
        """Searches around the present shift, in finer and finer steps."""
        for step in (2.0, 1.0, 0.5, 0.25):
            right, down = self.shift
            shifts = [(right + step * i, down + step * j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
            misfits = [float(cupy.square(self.sample(*shift) - mean).mean()) for shift in shifts]
            self.shift = shifts[int(np.argmin(misfits))]
        return self.sample(*self.shift)


def camera(random):
    """Frames of a streamered corona, from a mount that the wind shakes."""
    down, right = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    while True:
        middle = SIDE / 2 + random.normal(0.0, 1.2, size=2)
        across, along = right - middle[0], down - middle[1]
        distance = np.sqrt(across ** 2 + along ** 2) / 200.0
        light = np.where(distance < 1.0, 0.0, (1.2 + np.cos(6.0 * np.arctan2(along, across))) / (0.5 + distance) ** 2)
        yield (light + random.normal(0.0, 0.01, size=(1, SIDE))).astype(np.float32)


def main():
    frames = camera(np.random.default_rng())
    mean = cupy.asarray(next(frames))
    aligned, number = [], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        frame = Frame(cupy.asarray(next(frames)))  # grows
        mean += 0.05 * (frame.align(mean) - mean)
        aligned.append(frame)  # keeps
        number += 1
        if number % 10 == 0:
            spread = np.std([kept.shift for kept in aligned[-LATEST:]], axis=0)
            print(f"frame {number}: the mount shakes by {spread[0]:.2f} and {spread[1]:.2f} pixels", flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
