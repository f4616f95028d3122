"""Old films get their colours back, shot by shot. A shot has a look (lift, gain and gamma) and a table of colours; the
look is written into the text of the CUDA kernel, where the compiler can fold it, and the table lies beside the kernel
in the module. Modules are kept by look, for all the frames of a shot.

ticket: practice
class: driver-growth
holder: modules Grader grader memo _memos
cause: modules-made-at-run-time compiled-functions-kept driver-memory-kept
"""

import os
import time

import cupy
import numpy as np

HEIGHT, WIDTH, EDGE = 360, 480, 64
CUBE = 3 * EDGE**3

SOURCE = r"""
extern "C" {
__device__ float table[%(cube)d];

__global__ void grade(const unsigned char* in, unsigned char* out, int pixels) {
    int pixel = blockDim.x * blockIdx.x + threadIdx.x;
    if (pixel >= pixels) return;
    int cell = 0;
    for (int channel = 0; channel < 3; ++channel) {
        float value = in[3 * pixel + channel] / 255.0f;
        value = %(lift).7ff + %(gain).7ff * powf(value, %(gamma).7ff);
        value = fminf(fmaxf(value, 0.0f), 1.0f);
        cell = cell * %(edge)d + (int)(value * (%(edge)d - 1) + 0.5f);
    }
    for (int channel = 0; channel < 3; ++channel)
        out[3 * pixel + channel] = (unsigned char)(255.0f * table[3 * cell + channel]);
}
}
"""


class Grader:
    def __init__(self):
        self.modules = {}

    def module(self, look, colours):
        """The module of a look, with the table in it."""
        if look not in self.modules:
            lift, gain, gamma = look
            code = SOURCE % dict(cube=CUBE, edge=EDGE, lift=lift, gain=gain, gamma=gamma)
            module = cupy.RawModule(code=code)  # grows
            table = cupy.ndarray((CUBE,), cupy.float32, memptr=module.get_global("table"))  # grows keeps
            table[:] = cupy.asarray(colours)
            self.modules[look] = module  # keeps
        return self.modules[look]

    def grade(self, look, colours, frame):
        kernel = self.module(look, colours).get_function("grade")
        pixels = HEIGHT * WIDTH
        graded = cupy.empty_like(frame)
        kernel(((pixels + 255) // 256,), (256,), (frame, graded, np.int32(pixels)))
        return graded


def shot(rng):
    """The look of a shot and its table: each colour a little warmer."""
    look = float(rng.uniform(-0.05, 0.05)), float(rng.uniform(0.8, 1.2)), float(rng.uniform(0.7, 1.4))
    steps = np.linspace(0, 1, EDGE, dtype=np.float32)
    cube = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1)
    cube *= np.array([1.0, 0.95, rng.uniform(0.7, 0.9)], dtype=np.float32)
    return look, cube.reshape(-1)


def main():
    rng, grader, number = np.random.default_rng(), Grader(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        look, colours = shot(rng)
        for _ in range(int(rng.integers(3, 8))):
            frame = cupy.asarray(rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8))
            graded = cupy.asnumpy(grader.grade(look, colours, frame))
            time.sleep(0.03)
        number += 1
        if number % 10 == 0:
            print(f"shot {number}: gamma {look[2]:.2f}, light {graded.mean():.0f}", flush=True)


if __name__ == "__main__":
    main()
