"""Rovers learn to cross the moon by an evolution strategy. Each generation drives over a terrain of the curriculum,
which is rougher as the rovers get better; its heights are read from a texture, which interpolates between them in
hardware. A terrain takes a while to make and is kept by its seed until a few others were driven over.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

SIDE, ROVERS, STEPS, SENSED = 896, 2048, 64, 5
SPREAD, RATE = 0.1, 0.05
KEPT = 8

DRIVE = cp.RawKernel(r"""
extern "C" __global__
void drive(cudaTextureObject_t heights, const float* policies, float* rewards, int rovers, int steps, int side) {
    int rover = blockIdx.x * blockDim.x + threadIdx.x;
    if (rover >= rovers) return;
    const float* policy = policies + rover * 5;
    float x = side * 0.1f, y = side * (0.2f + 0.6f * rover / rovers), heading = 0.0f, reward = 0.0f;
    for (int step = 0; step < steps; ++step) {
        float here = tex2D<float>(heights, x + 0.5f, y + 0.5f);
        float left = tex2D<float>(heights, x + 8.0f * cosf(heading + 0.6f), y + 8.0f * sinf(heading + 0.6f)) - here;
        float right = tex2D<float>(heights, x + 8.0f * cosf(heading - 0.6f), y + 8.0f * sinf(heading - 0.6f)) - here;
        heading += tanhf(policy[0] * left + policy[1] * right + policy[2] * heading + policy[3]);
        float speed = 6.0f / (1.0f + fabsf(left + right)) + 0.1f * tanhf(policy[4]);
        x += speed * cosf(heading);
        y += speed * sinf(heading);
        reward += speed * cosf(heading) - 0.5f * fabsf(left - right);
    }
    rewards[rover] = reward;
}
""", "drive")


class Terrain:
    def __init__(self, seed, roughness):
        rng = np.random.default_rng(seed)
        heights = np.zeros((SIDE, SIDE), np.float32)
        for cells in (7, 28, 112):
            coarse = rng.standard_normal((cells, cells), dtype=np.float32) * roughness * 7 / cells
            heights += np.kron(coarse, np.ones((SIDE // cells, SIDE // cells), np.float32))
        channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        array = texture.CUDAarray(channel, SIDE, SIDE)
        array.copy_from(heights)
        resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
        clamp = (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp)
        sampling = texture.TextureDescriptor(clamp, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
        self.heights = texture.TextureObject(resource, sampling)
        self.roughness = roughness


class Curriculum:
    def __init__(self):
        self.roughness = 1.0
        self.terrains = {}

    def terrain(self, seed):
        if seed not in self.terrains:
            if len(self.terrains) == KEPT:
                del self.terrains[next(iter(self.terrains))]
            self.terrains[seed] = Terrain(seed, self.roughness)
        return self.terrains[seed]

    def judge(self, reward):
        self.roughness = min(8.0, self.roughness * 1.02) if reward > 150 else max(0.5, self.roughness * 0.99)


def main():
    curriculum, policy, generation = Curriculum(), cp.zeros(SENSED, cp.float32), 0
    rewards = cp.zeros(ROVERS, cp.float32)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        terrain = curriculum.terrain(random.randrange(1_000_000))
        noise = cp.random.standard_normal((ROVERS, SENSED), dtype=cp.float32)
        policies = policy + SPREAD * noise
        DRIVE((ROVERS // 128,), (128,), (terrain.heights, policies, rewards, np.int32(ROVERS), np.int32(STEPS),
                                         np.int32(SIDE)))
        scores = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        policy = policy + RATE * (scores @ noise) / (ROVERS * SPREAD)
        mean = float(rewards.mean())
        curriculum.judge(mean)
        generation += 1
        if generation % 20 == 0:
            print(f"generation {generation}: reward {mean:.1f}, roughness {terrain.roughness:.2f}", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
