"""Particles of many kinds move in a box. How two of them push each other is tabulated on the device, and the kernel
that looks it up is written anew for each law of force, with its numbers in the text, and kept for when it comes again.

ticket: practice
class: driver-growth
holder: kernels modules memo
cause: compiled-functions-kept modules-made-at-run-time cache-without-bound per-shape-compile-cache
"""

import os
import time

import cupy as cp
import numpy as np

TEXT = r"""
extern "C" {

__device__ float table[1048576];

__global__ void fill() {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1048576) return;
    float r = 0.5f + 4.0f * i / 1048576.0f, s = WIDTH / r;
    float s6 = s * s * s * s * s * s;
    table[i] = 24.0f * DEPTH * (2.0f * s6 * s6 - s6) / r;
}

__global__ void push(const float* places, float* forces, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float total = 0.0f;
    for (int j = 0; j < count; j++) {
        float d = places[j] - places[i], r = fabsf(d);
        if (j == i || r < 0.5f || r >= 4.5f) continue;
        total -= copysignf(table[(int)((r - 0.5f) / 4.0f * 1048575.0f)], d);
    }
    forces[i] = fminf(fmaxf(total, -50.0f), 50.0f);
}

}
"""


class Laws:
    """Kernels for the laws of force."""

    def __init__(self):
        self.kernels = {}

    def prepared(self, depth, width):
        if (depth, width) not in self.kernels:
            text = TEXT.replace("DEPTH", f"{depth:.6f}f").replace("WIDTH", f"{width:.6f}f")
            module = cp.RawModule(code=text)  # grows
            module.get_function("fill")((4096,), (256,), ())
            self.kernels[depth, width] = module.get_function("push")  # keeps
        return self.kernels[depth, width]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    random = np.random.default_rng()
    laws, forces, count, runs = Laws(), cp.zeros(2048, cp.float32), 2048, 0
    while time.time() < end:
        push = laws.prepared(round(float(random.uniform(0.2, 2)), 6), round(float(random.uniform(0.8, 1.4)), 6))
        places = cp.asarray(random.uniform(0, 900, count).astype(np.float32))
        speeds = cp.zeros(count, cp.float32)
        for _ in range(40):
            push((16,), (128,), (places, forces, np.int32(count)))
            speeds += 0.001 * forces
            places += 0.001 * speeds
            time.sleep(0.005)
        runs += 1
        if runs % 20 == 0:
            print(runs, "runs", float(cp.abs(speeds).mean()), flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
