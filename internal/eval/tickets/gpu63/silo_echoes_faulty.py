"""Tells the level of the grain in silos for a probe robot that hangs on a cable. The field of echoes of a silo drifts
as grain is drawn, so it is computed anew from time to time and put into texture memory, where the particles of the
probe's filter look it up with the interpolation of the hardware. A field that was computed for the same silo and the
same draught is not computed again.

ticket: practice
class: driver-growth
holder: textures Fields TextureObject
cause: cache-without-bound driver-memory-kept
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SIDE, PARTICLES, SILOS = 768, 16_384, 3

look_up = cp.RawKernel(r"""
extern "C" __global__
void look_up(cudaTextureObject_t field, const float* places, float* weights, int particles) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < particles)
        weights[i] = tex2D<float>(field, places[2 * i] + 0.5f, places[2 * i + 1] + 0.5f);
}
""", "look_up")


def as_texture(field):
    """The field in texture memory, to be read between its cells too."""
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channel, SIDE, SIDE)  # grows
    array.copy_from(field)
    source = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    clamp = runtime.cudaAddressModeClamp
    linear = runtime.cudaFilterModeLinear
    reading = texture.TextureDescriptor((clamp, clamp), linear, runtime.cudaReadModeElementType)
    return texture.TextureObject(source, reading)


class Silo:
    def __init__(self, number):
        self.number, self.drawn = number, 0
        axis = cp.arange(SIDE, dtype=cp.float32)
        self.rows, self.columns = axis[:, None], axis[None, :]

    def draw(self):
        self.drawn += random.choice((0, 1, 1, 2))

    def field(self):
        """How strong an echo is at each place of the wall's image."""
        phase = 0.05 * self.drawn + self.number
        surface = 0.5 * SIDE + 60.0 * cp.sin(self.columns / 90.0 + phase)
        return cp.ascontiguousarray(cp.exp(-((self.rows - surface) / 40.0) ** 2), dtype=cp.float32)


class Fields:
    def __init__(self):
        self.textures = {}

    def of(self, silo):
        key = silo.number, silo.drawn
        if key not in self.textures:
            self.textures[key] = as_texture(silo.field())  # keeps
        return self.textures[key]


class Filter:
    """Particles that gather where the echoes are strong."""

    def __init__(self):
        self.rng = np.random.default_rng()
        self.places = SIDE * cp.asarray(self.rng.random((PARTICLES, 2), dtype=np.float32))
        self.weights = cp.empty(PARTICLES, cp.float32)

    def step(self, field):
        self.places += 4.0 * cp.asarray(self.rng.standard_normal((PARTICLES, 2), dtype=np.float32))
        cp.clip(self.places, 0.0, SIDE - 1.0, out=self.places)
        look_up(((PARTICLES + 255) // 256,), (256,), (field, self.places, self.weights, np.int32(PARTICLES)))
        ladder = cp.cumsum(self.weights + 1e-4)
        picks = cp.searchsorted(ladder, ladder[-1] * cp.asarray(self.rng.random(PARTICLES, dtype=np.float32)))
        self.places = self.places[cp.minimum(picks, PARTICLES - 1)]
        return float(self.places[:, 1].mean())


def main():
    silos = [Silo(number) for number in range(SILOS)]
    fields, filters = Fields(), [Filter() for _ in silos]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rounds = 0
    while time.time() < end:
        levels = [probe.step(fields.of(silo)) for probe, silo in zip(filters, silos)]
        rounds += 1
        if rounds % 2 == 0:
            random.choice(silos).draw()
            random.choice(silos).draw()
        if rounds % 50 == 0:
            print(f"round {rounds}: levels", ", ".join(f"{level:.0f}" for level in levels), flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
