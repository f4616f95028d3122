"""The steam over a geyser is simulated on a grid and looked at by three cameras. A camera marches its rays through the
volume as a 3D texture, because the hardware interpolates for nothing. All cameras of a moment share the texture of that
moment.

ticket: practice
class: none
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

DEPTH, HEIGHT, WIDTH, SIZE = 64, 128, 64, 256

MARCH = cp.RawKernel(
    r"""
extern "C" __global__
void march(cudaTextureObject_t steam, float* picture, int size, int depth, int height, int width, float angle) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= size || row >= size) return;
    float across = (float)column / size - 0.5f, through = 1.0f, light = 0.0f;
    for (int step = 0; step < 96; step++) {
        float ahead = step / 96.0f - 0.5f;
        float x = (across * cosf(angle) - ahead * sinf(angle) + 0.5f) * width;
        float z = (across * sinf(angle) + ahead * cosf(angle) + 0.5f) * depth;
        float dense = tex3D<float>(steam, x, (float)row / size * height, z);
        light += through * dense * 0.05f;
        through *= expf(-dense * 0.08f);
    }
    picture[row * size + column] = light;
}
""",
    "march",
)


class Geyser:
    """Steam that rises, spreads, drifts and cools down."""

    def __init__(self):
        self.steam = cp.zeros((DEPTH, HEIGHT, WIDTH), dtype=cp.float32)
        self.moment = 0

    def rise(self):
        steam = cp.roll(self.steam, 1, axis=1)
        steam[:, 0] = 0
        for axis in (0, 2):
            steam = 0.8 * steam + 0.1 * (cp.roll(steam, 1, axis) + cp.roll(steam, -1, axis))
        strength = 1.0 if self.moment % 60 < 40 else 0.1
        steam[28:36, :4, 28:36] += strength * random.random()
        self.steam = cp.ascontiguousarray(0.99 * steam, dtype=cp.float32)
        self.moment += 1


class Watch:
    def __init__(self, angles):
        self.angles, self.textures = angles, {}
        self.channel = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        self.sampling = TextureDescriptor(
            (runtime.cudaAddressModeClamp,) * 3, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType
        )

    def texture(self, geyser):
        if geyser.moment not in self.textures:
            volume = CUDAarray(self.channel, WIDTH, HEIGHT, DEPTH)
            volume.copy_from(geyser.steam)
            resource = ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=volume)
            self.textures = {geyser.moment: TextureObject(resource, self.sampling)}
        return self.textures[geyser.moment]

    def look(self, geyser, angle):
        picture = cp.empty((SIZE, SIZE), dtype=cp.float32)
        sizes = (np.int32(number) for number in (SIZE, DEPTH, HEIGHT, WIDTH))
        MARCH((SIZE // 16, SIZE // 16), (16, 16), (self.texture(geyser), picture, *sizes, np.float32(angle)))
        return float(picture.mean())


def main():
    geyser, watch = Geyser(), Watch((0.0, 1.0, 2.0))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        geyser.rise()
        bright = [watch.look(geyser, angle) for angle in watch.angles]
        if geyser.moment % 40 == 0:
            print(f"moment {geyser.moment}: brightness", *(f"{part:.3f}" for part in bright), flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
