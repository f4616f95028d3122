"""The mass of a galaxy cluster is sampled from how it bends the light of the galaxies behind it. A Metropolis chain
proposes the cluster's core and its mass, a map of the deflection is made for them and put into a texture, and the
positions of the galaxies are looked up there. The chain often stays where it is, so the texture of a state is kept
for the next visit.

ticket: practice
class: driver-growth
holder: maps Lens lens
cause: driver-memory-kept cache-without-bound
"""

import math
import os
import random
import time

import cupy as cp
from cupy.cuda import runtime, texture

SIZE, GALAXIES = 1024, 200_000
SIGMA = 0.02

LOOK_UP = cp.RawKernel(
    r"""
extern "C" __global__ void look_up(cudaTextureObject_t bend, const float* x, const float* y, float* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = tex2D<float>(bend, x[i] + 0.5f, y[i] + 0.5f);
}
""",
    "look_up",
)


def make_texture(field):
    """A texture that interpolates the field linearly."""
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = texture.CUDAarray(channel, SIZE, SIZE)  # grows
    array.copy_from(field)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    clamp = (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp)
    sampler = texture.TextureDescriptor(clamp, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
    return texture.TextureObject(resource, sampler)


class Lens:
    """The maps of deflection, and the galaxies that are looked up in them."""

    def __init__(self):
        self.x = SIZE * cp.random.random_sample(GALAXIES, dtype=cp.float32)
        self.y = SIZE * cp.random.random_sample(GALAXIES, dtype=cp.float32)
        self.rows = cp.arange(SIZE, dtype=cp.float32)[:, None] / SIZE - 0.5
        self.columns = cp.arange(SIZE, dtype=cp.float32)[None, :] / SIZE - 0.5
        self.maps = {}
        self.seen = self.bends((0.3, 0.08)) + SIGMA * cp.random.standard_normal(GALAXIES, dtype=cp.float32)

    def bends(self, state):
        """How much each galaxy is bent by a cluster with this mass and this core."""
        if state not in self.maps:
            mass, core = state
            radius = cp.sqrt(self.rows**2 + self.columns**2 + cp.float32(core**2))
            field = cp.ascontiguousarray(cp.float32(mass) * (radius - cp.float32(core)) / radius)
            self.maps[state] = make_texture(field)  # keeps
        out = cp.empty(GALAXIES, dtype=cp.float32)
        blocks = (GALAXIES + 255) // 256
        LOOK_UP((blocks,), (256,), (self.maps[state], self.x, self.y, out, cp.int32(GALAXIES)))
        return out

    def log_likelihood(self, state):
        return -0.5 * float(((self.bends(state) - self.seen) ** 2).mean()) / SIGMA**2 * 1_000


def main():
    lens, state, taken, count = Lens(), (0.25, 0.1), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        proposal = (abs(state[0] + random.gauss(0, 0.004)), abs(state[1] + random.gauss(0, 0.003)) + 1e-4)
        gain = lens.log_likelihood(proposal) - lens.log_likelihood(state)
        if math.log(random.random() + 1e-300) < gain:
            state, taken = proposal, taken + 1
        count += 1
        if count % 20 == 0:
            print(f"{count} proposals: mass {state[0]:.4f}, core {state[1]:.4f}, taken {taken / count:.2f}", flush=True)
        time.sleep(random.uniform(0.12, 0.25))


if __name__ == "__main__":
    main()
