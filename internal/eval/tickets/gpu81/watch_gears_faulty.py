"""Computed tomography of watches on a line. The scan of each watch is filtered and put into a texture, and the slice
through its gears is reconstructed from that at three zooms, one after the other, as the inspector asks for them. The
scan is found by the serial number of the watch, so that it is filtered and loaded only once.

ticket: practice
class: driver-growth
holder: textures Scanner TextureObject
cause: driver-memory-kept cache-without-bound handle-leak
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.texture import (
    ChannelFormatDescriptor,
    CUDAarray,
    ResourceDescriptor,
    TextureDescriptor,
    TextureObject,
)

ANGLES, DETECTORS, SIDE, GEARS = 360, 1536, 384, 9
ZOOMS = 1.0, 0.5, 0.25

backproject = cp.RawKernel(
    r"""
extern "C" __global__
void backproject(float* image, cudaTextureObject_t scan, int side, int angles, int detectors, float zoom) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    float scale = zoom * detectors / side, right = (x - 0.5f * side) * scale, up = (y - 0.5f * side) * scale;
    float sum = 0.0f;
    for (int angle = 0; angle < angles; angle++) {
        float sine, cosine;
        sincosf(3.14159265f * angle / angles, &sine, &cosine);
        sum += tex2D<float>(scan, right * cosine + up * sine + 0.5f * detectors + 0.5f, angle + 0.5f);
    }
    image[y * side + x] = sum * 3.14159265f / angles;
}
""",
    "backproject",
)


def scan_watch():
    """What the detectors see of a few round gears, from all angles."""
    angles = cp.arange(ANGLES, dtype=cp.float32)[:, None] * (np.pi / ANGLES)
    places = cp.arange(DETECTORS, dtype=cp.float32)[None] - DETECTORS / 2
    scan = cp.zeros((ANGLES, DETECTORS), dtype=cp.float32)
    for _ in range(GEARS):
        right, up = random.uniform(-350, 350), random.uniform(-350, 350)
        radius = random.uniform(40, 160)
        distance = places - right * cp.cos(angles) - up * cp.sin(angles)
        scan += 2 * cp.sqrt(cp.maximum(radius * radius - distance * distance, 0))
    return scan


class Scanner:
    def __init__(self):
        self.texel = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        self.reading = TextureDescriptor(
            (runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType
        )
        self.ramp = cp.fft.rfftfreq(DETECTORS).astype(cp.float32)
        self.textures = {}

    def texture(self, serial):
        """The filtered scan of a watch."""
        if serial not in self.textures:
            filtered = cp.fft.irfft(cp.fft.rfft(scan_watch(), axis=1) * self.ramp, n=DETECTORS, axis=1)
            array = CUDAarray(self.texel, DETECTORS, ANGLES)  # grows
            array.copy_from(cp.ascontiguousarray(filtered, dtype=cp.float32))
            resource = ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
            self.textures[serial] = TextureObject(resource, self.reading)  # keeps
        return self.textures[serial]

    def view(self, serial, zoom):
        image, block = cp.empty((SIDE, SIDE), dtype=cp.float32), (16, 16)
        sizes = np.int32(SIDE), np.int32(ANGLES), np.int32(DETECTORS)
        backproject((SIDE // 16, SIDE // 16), block, (image, self.texture(serial), *sizes, np.float32(zoom)))
        return image


def main():
    scanner, serial = Scanner(), 40_000
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        serial += random.randint(1, 3)
        for zoom in ZOOMS:
            density = float(scanner.view(serial, zoom).max())
            time.sleep(random.uniform(0.03, 0.1))
        if serial % 10 == 0:
            print(f"watch {serial}: densest place {density:.2f}", flush=True)


if __name__ == "__main__":
    main()
