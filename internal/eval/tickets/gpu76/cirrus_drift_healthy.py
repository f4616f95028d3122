"""Makes a smooth film of high clouds from the pictures of a weather satellite. Each picture is put into a texture, as
the hardware then interpolates for free; the pictures between two of them are drawn by moving both along the wind.
The last two textures are stored by the time of their picture, as each is used twice.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

WIDTH, HEIGHT, EVERY, BETWEEN = 1280, 768, 300, 3

draw = cp.RawKernel(r"""
extern "C" __global__ void draw(cudaTextureObject_t before, cudaTextureObject_t after, const float* wind,
                                float share, int width, int height, float* film) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float u = wind[2 * y], v = wind[2 * y + 1];
    float old = tex2D<float>(before, x - share * u + 0.5f, y - share * v + 0.5f);
    float next = tex2D<float>(after, x + (1 - share) * u + 0.5f, y + (1 - share) * v + 0.5f);
    film[y * width + x] = (1 - share) * old + share * next;
}
""", "draw")


class Satellite:
    """Stands in for the satellite: bands of cirrus that drift with a wind for each latitude."""

    def __init__(self):
        self.random = np.random.default_rng(7)
        rows = np.arange(HEIGHT, dtype=np.float32)
        self.wind = np.stack([6 + 3 * np.sin(rows / 90), np.cos(rows / 60)], axis=1).astype(np.float32)

    def picture(self, moment):
        y, x = np.ogrid[:HEIGHT, :WIDTH]
        at = x - self.wind[:, :1] * np.float32(moment / EVERY % 500)
        clouds = np.sin(at / 35) * np.cos(y / 28 + np.sin(at / 80))
        noise = self.random.random((HEIGHT, WIDTH), dtype=np.float32)
        return np.ascontiguousarray(clouds + 0.1 * noise, dtype=np.float32)


class Film:
    def __init__(self, satellite):
        self.satellite, self.textures = satellite, {}
        self.wind = cp.asarray(satellite.wind)
        self.frame = cp.empty((HEIGHT, WIDTH), cp.float32)

    def load(self, moment):
        if moment not in self.textures:
            channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
            array = texture.CUDAarray(channel, WIDTH, HEIGHT)
            array.copy_from(self.satellite.picture(moment))
            resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
            how = texture.TextureDescriptor(
                (runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType
            )
            self.textures[moment] = texture.TextureObject(resource, how)
            if len(self.textures) > 2:
                del self.textures[min(self.textures)]
        return self.textures[moment]

    def between(self, moment):
        """The mean brightness of the frames drawn between this picture and the next."""
        before, after = self.load(moment), self.load(moment + EVERY)
        blocks, threads = ((WIDTH + 31) // 32, (HEIGHT + 7) // 8), (32, 8)
        for step in range(BETWEEN):
            share = np.float32((step + 1) / (BETWEEN + 1))
            draw(blocks, threads, (before, after, self.wind, share, np.int32(WIDTH), np.int32(HEIGHT), self.frame))
            yield float(self.frame.mean())


def main():
    film, moment, drawn = Film(Satellite()), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        brightness = list(film.between(moment))
        moment += EVERY
        drawn += len(brightness)
        if drawn % (10 * BETWEEN) == 0:
            print(f"{drawn} frames up to minute {moment // 60}, brightness {brightness[-1]:.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
