"""How much sunlight do clouds let through? Photons are scattered through a slab of cloud by Monte Carlo, and where
they leave below is tallied on a fine map. Each cloud has its own optical depth, albedo and asymmetry, drawn from the
climate's record. They are written into the CUDA source, so that the compiler can fold all that depends on them.

ticket: practice
class: driver-growth
holder: -
cause: modules-made-at-run-time driver-memory-kept compiled-functions-kept
"""

import os
import random
import time

import cupy as cp

SIDE, PHOTONS, THREADS = 640, 1 << 17, 256

SOURCE = r"""
extern "C" {

__device__ float tally[SIDE * SIDE];

__device__ unsigned int next(unsigned int *state) {
    *state ^= *state << 13; *state ^= *state >> 17; *state ^= *state << 5;
    return *state;
}

__device__ float uniform(unsigned int *state) {
    return (next(state) >> 8) * (1.0f / 16777216.0f) + 1e-9f;
}

__global__ void scatter(const unsigned int seed, const int photons) {
    const int photon = blockIdx.x * blockDim.x + threadIdx.x;
    if (photon >= photons) return;
    unsigned int state = (seed + photon) * 2654435761u + 12345u;
    float x = 0.5f, y = 0.5f, z = 0.0f, u = 0.0f, v = 0.0f, w = 1.0f, weight = 1.0f;
    for (int event = 0; event < 200 && weight > 1e-3f; ++event) {
        const float path = -logf(uniform(&state)) / DEPTH;
        x += 0.1f * path * u; y += 0.1f * path * v; z += path * w;
        if (z < 0.0f) return;
        if (z > 1.0f) {
            const int column = min(max((int)(x * SIDE), 0), SIDE - 1), row = min(max((int)(y * SIDE), 0), SIDE - 1);
            atomicAdd(&tally[row * SIDE + column], weight);
            return;
        }
        weight *= ALBEDO;
        const float part = (1 - ASYMMETRY * ASYMMETRY) / (1 - ASYMMETRY + 2 * ASYMMETRY * uniform(&state));
        const float cosine = (1 + ASYMMETRY * ASYMMETRY - part * part) / (2 * ASYMMETRY);
        const float sine = sqrtf(fmaxf(0.0f, 1 - cosine * cosine)), turn = 6.2831853f * uniform(&state);
        const float flat = sqrtf(fmaxf(1e-6f, 1 - w * w)), a = sine * cosf(turn), b = sine * sinf(turn);
        const float ahead = u * cosine + (u * w * a - v * b) / flat, aside = v * cosine + (v * w * a + u * b) / flat;
        w = w * cosine - flat * a; u = ahead; v = aside;
    }
}

}
"""


class Cloud:
    def __init__(self, depth, albedo, asymmetry):
        self.depth, self.albedo, self.asymmetry = depth, albedo, asymmetry

    def defines(self):
        values = {"DEPTH": self.depth, "ALBEDO": self.albedo, "ASYMMETRY": self.asymmetry}
        return f"#define SIDE {SIDE}\n" + "".join(f"#define {name} {value:.6f}f\n" for name, value in values.items())

    def shine(self, rounds):
        """The share of the light that comes through, and how wide its spot is."""
        module = cp.RawModule(code=self.defines() + SOURCE)
        scatter = module.get_function("scatter")  # grows keeps
        tally = cp.ndarray((SIDE, SIDE), cp.float32, module.get_global("tally"))
        tally.fill(0)
        for _ in range(rounds):
            seed = cp.uint32(random.getrandbits(31))
            scatter((PHOTONS // THREADS,), (THREADS,), (seed, cp.int32(PHOTONS)))
        light = float(tally.sum()) / (rounds * PHOTONS)
        away = cp.abs(cp.arange(SIDE) / SIDE - 0.5)
        return light, float((tally.sum(axis=0) * away).sum() / (tally.sum() + 1e-9))


def main():
    clouds, mean = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        cloud = Cloud(random.uniform(2, 40), random.uniform(0.9, 0.9999), random.uniform(0.6, 0.88))
        light, width = cloud.shine(rounds=4)
        clouds += 1
        mean += (light - mean) / clouds
        if clouds % 10 == 0:
            print(f"{clouds} clouds: depth {cloud.depth:.1f}, {light:.3f} through, width {width:.3f}, mean {mean:.3f}",
                  flush=True)
        time.sleep(random.uniform(0.1, 0.2))


if __name__ == "__main__":
    main()
