"""Restorers send photographs of frescoes, and the server tones them by the look of their workshop. A look is a table
that a workshop paints over and over; it lies on the card as a texture, so that the lookup interpolates for free. A
request is toned with the newest look of its workshop.

ticket: practice
class: driver-growth
holder: textures Looks TextureObject
cause: driver-memory-kept cache-without-bound entries-left
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.texture import CUDAarray, ChannelFormatDescriptor, ResourceDescriptor, TextureDescriptor, TextureObject

SIDE, BLOCK = 1024, 256
WORKSHOPS = "assisi", "padua", "siena", "arezzo", "mantua"

tone = cp.RawKernel(r"""
extern "C" __global__ void tone(const float* light, const float* warmth, float* out,
                                cudaTextureObject_t look, int side, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = tex2D<float>(look, light[i] * (side - 1) + 0.5f, warmth[i] * (side - 1) + 0.5f);
}
""", "tone")


def texture(table):
    """Puts a table on the card, for lookups that interpolate."""
    channel = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = CUDAarray(channel, SIDE, SIDE)  # grows
    array.copy_from(table)
    resource = ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    clamp = (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp)
    how = TextureDescriptor(clamp, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
    return TextureObject(resource, how)


class Looks:
    def __init__(self):
        self.revisions, self.textures = dict.fromkeys(WORKSHOPS, 0), {}
        for workshop in WORKSHOPS:
            self.paint(workshop)

    def paint(self, workshop):
        """The workshop sends a new look."""
        curve = np.linspace(0, 1, SIDE, dtype=np.float32) ** random.uniform(0.6, 1.6)
        table = np.ascontiguousarray(np.add.outer(curve, 0.1 * curve), dtype=np.float32)
        self.revisions[workshop] += 1
        self.textures[workshop, self.revisions[workshop]] = texture(table)  # grows keeps

    def newest(self, workshop):
        return self.textures[workshop, self.revisions[workshop]]


def toned(looks, workshop, photograph):
    light, warmth = cp.asarray(photograph)
    out = cp.empty_like(light)
    grid = (light.size + BLOCK - 1) // BLOCK
    tone((grid,), (BLOCK,), (light, warmth, out, looks.newest(workshop), np.int32(SIDE), np.int32(light.size)))
    return cp.asnumpy(out)


def main():
    looks, served, printed = Looks(), 0, time.time()
    numbers = np.random.default_rng(3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        workshop = random.choice(WORKSHOPS)
        picture = toned(looks, workshop, numbers.random((2, random.choice((300, 400, 500)), 640), dtype=np.float32))
        served += 1
        if random.random() < 0.6:
            looks.paint(random.choice(WORKSHOPS))
        if time.time() - printed > 3:
            print(f"{served} served, {workshop} at {looks.revisions[workshop]}, mean {picture.mean():.2f}", flush=True)
            printed = time.time()
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
