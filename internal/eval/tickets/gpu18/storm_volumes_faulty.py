"""A storm is computed with cupy (a GPU only), and shown while it goes on: rays are sent through the cloud, which
for this is a texture, as textures interpolate by themselves. The viewer turns around, and now and then jumps back a few
moments; so that this is quick, the textures made for the moments are remembered.

ticket: practice
class: driver-growth
holder: textures viewer Viewer
cause: cache-without-bound handle-leak results-kept buffer-without-bound
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SIDE, HIGH, WIDE = 96, 180, 240

KERNEL = cp.RawKernel(r"""
extern "C" __global__ void look(cudaTextureObject_t cloud, float *picture, int high, int wide,
                                float sine, float cosine) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= high || column >= wide) return;
    float y = (float) row / high, aside = (float) column / wide - 0.5f, through = 1.0f, light = 0.0f;
    for (int step = 0; step < 120; step++) {
        float deep = step / 120.0f - 0.5f;
        float x = cosine * aside - sine * deep + 0.5f, z = sine * aside + cosine * deep + 0.5f;
        float dense = tex3D<float>(cloud, x, y, z) * 0.08f;
        light += through * dense * (1.0f - y);
        through *= 1.0f - fminf(dense, 1.0f);
    }
    picture[row * wide + column] = light;
}
""", "look")


class Storm:
    """Vapour that is stirred, rises and thins out."""

    def __init__(self):
        self.vapour, self.moment = cp.random.random((SIDE, SIDE, SIDE), dtype=cp.float32), 0

    def step(self):
        near = cp.roll(self.vapour, 1, 0) + cp.roll(self.vapour, -1, 0) + cp.roll(self.vapour, 1, 2)
        self.vapour = 0.2 * (near + cp.roll(self.vapour, -1, 2) + cp.roll(self.vapour, 1, 1))
        place = random.randrange(SIDE - 16)
        self.vapour[place:place + 16, -16:, place:place + 16] += random.random()
        self.moment += 1


def make_texture(vapour):
    form = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(form, SIDE, SIDE, SIDE)  # grows
    array.copy_from(cp.ascontiguousarray(vapour))
    source = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    how = texture.TextureDescriptor((runtime.cudaAddressModeClamp,) * 3, runtime.cudaFilterModeLinear,
                                    runtime.cudaReadModeElementType, normalizedCoords=1)
    return texture.TextureObject(source, how)


class Viewer:
    def __init__(self):
        self.textures, self.angle = {}, 0.0
        self.picture = cp.zeros((HIGH, WIDE), cp.float32)

    def note(self, storm):
        self.textures[storm.moment] = make_texture(storm.vapour)  # keeps

    def look(self, moment):
        self.angle += random.uniform(-0.2, 0.3)
        grid, block = (-(-WIDE // 16), -(-HIGH // 16)), (16, 16)
        sine, cosine = np.float32(np.sin(self.angle)), np.float32(np.cos(self.angle))
        KERNEL(grid, block, (self.textures[moment], self.picture, np.int32(HIGH), np.int32(WIDE), sine, cosine))
        return float(self.picture.mean())


def main():
    storm, viewer = Storm(), Viewer()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        storm.step()
        viewer.note(storm)
        for _ in range(random.randint(1, 4)):
            back = random.randrange(6) if random.random() < 0.3 else 0
            bright = viewer.look(max(1, storm.moment - back))
        if storm.moment % 10 == 0:
            print("moment", storm.moment, "angle", round(viewer.angle, 2), "bright", round(bright, 4), flush=True)
        time.sleep(random.uniform(0.15, 0.45))


if __name__ == "__main__":
    main()
