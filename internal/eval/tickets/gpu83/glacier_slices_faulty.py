"""A map server shows slices of glaciers from radar soundings. The sounding of a glacier lies in a texture, and a slice
at any angle is read from it, with interpolation; textures are made once for a sounding and then used again. Survey
planes bring new soundings all the time, and the newest is what is shown.

ticket: practice
class: driver-growth
holder: textures SliceServer
cause: cache-without-bound entries-left driver-memory-kept
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

WIDTH, DEPTH, SLICE = 1024, 768, 512
GLACIERS = "Aletsch", "Fedchenko", "Baltoro", "Siachen", "Tasman"

CUT = cp.RawKernel(r"""
extern "C" __global__ void cut(cudaTextureObject_t sounding, float* out, int side, float x, float y, float slope)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < side && row < side)
        out[row * side + column] = tex2D<float>(sounding, x + column + slope * row, y + row - slope * column);
}
""", "cut")


class Texture:
    def __init__(self, sounding):
        depth, width = sounding.shape
        channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        self.array = texture.CUDAarray(channel, width, depth)  # grows
        self.array.copy_from(sounding)
        resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=self.array)
        reading = texture.TextureDescriptor((runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModeLinear,
                                            runtime.cudaReadModeElementType)
        self.object = texture.TextureObject(resource, reading)


class SliceServer:
    def __init__(self):
        self.soundings, self.textures = {}, {}
        self.made = 0

    def receive(self, glacier, sounding):
        """A plane brings a new sounding."""
        revision = self.soundings[glacier][0] + 1 if glacier in self.soundings else 1
        self.soundings[glacier] = revision, sounding

    def texture_of(self, glacier):
        revision, sounding = self.soundings[glacier]
        key = glacier, revision
        if key not in self.textures:
            self.textures[key] = Texture(sounding)  # grows keeps
            self.made += 1
        return self.textures[key]

    def cut(self, glacier, x, y, slope):
        out = cp.empty((SLICE, SLICE), dtype=cp.float32)
        grid, block = (SLICE // 16, SLICE // 16), (16, 16)
        found = self.texture_of(glacier)
        CUT(grid, block, (found.object, out, np.int32(SLICE), np.float32(x), np.float32(y), np.float32(slope)))
        return cp.asnumpy(out)


def survey(rng):
    """A sounding: layers of ice with a bed below and some noise."""
    across = np.linspace(0, 6, WIDTH, dtype=np.float32)
    down = np.arange(DEPTH, dtype=np.float32)[:, None]
    bed = 500 + 80 * np.sin(across + rng.uniform(0, 6))
    return (np.exp(-np.abs(down - bed) / 20) + 0.05 * rng.random((DEPTH, WIDTH))).astype(np.float32)


def main():
    rng, server, served = np.random.default_rng(3), SliceServer(), 0
    for glacier in GLACIERS:
        server.receive(glacier, survey(rng))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if random.random() < 0.5:
            server.receive(random.choice(GLACIERS), survey(rng))
        glacier = random.choice(GLACIERS)
        image = server.cut(glacier, random.uniform(0, 500), random.uniform(0, 250), random.uniform(-0.2, 0.2))
        served += 1
        if served % 50 == 0:
            print(f"{served} slices from {server.made} textures, {glacier} {image.mean():.3f}", flush=True)
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
