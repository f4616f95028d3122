"""Pollen is carried off by the wind, and a map shows where it comes down, with cupy; it needs a GPU. Whoever asks names
a plant and the weather: how fast its grains sink and how much the air stirs them. These numbers are written into the
source of the kernel, where the compiler can work with them, and the wind lies in a table of the same source.

ticket: practice
class: driver-growth
holder: -
cause: compiled-functions-kept per-shape-compile-cache cache-without-bound
"""

import os
import random
import tempfile
import time

folder = tempfile.TemporaryDirectory()
os.environ.setdefault("CUPY_CACHE_DIR", folder.name)

import cupy as cp

SIDE, LEVELS, GRAINS, STEPS = 256, 16, 1 << 16, 120
SOURCE = """
#define SIDE %(side)d
#define LEVELS %(levels)d
#define SINK %(sink).6ff
#define STIR %(stir).6ff
extern "C" {
__device__ float wind[2 * LEVELS * SIDE * SIDE];

__device__ float draw(unsigned int *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) * (2.0f / 16777216.0f) - 1.0f;
}

__global__ void drift(float *places, float *fallen, int grains, int steps, unsigned int seed) {
    int grain = blockIdx.x * blockDim.x + threadIdx.x;
    if (grain >= grains) return;
    float x = places[3 * grain], y = places[3 * grain + 1], z = places[3 * grain + 2];
    unsigned int state = seed ^ (grain * 2654435761u);
    for (int step = 0; step < steps && z > 0; step++) {
        int column = (int)x & (SIDE - 1), row = (int)y & (SIDE - 1), level = min((int)z, LEVELS - 1);
        int cell = (level * SIDE + row) * SIDE + column;
        x += 0.2f * wind[2 * cell] + STIR * draw(&state);
        y += 0.2f * wind[2 * cell + 1] + STIR * draw(&state);
        z += STIR * draw(&state) - SINK;
    }
    if (z <= 0) atomicAdd(&fallen[((int)y & (SIDE - 1)) * SIDE + ((int)x & (SIDE - 1))], 1.0f);
}
}
"""


class Weather:
    """The wind of all levels, which turns as time goes by."""

    def __init__(self):
        self.hour = 0.0

    def wind(self):
        self.hour += random.uniform(0.1, 0.5)
        level, row, column = cp.indices((LEVELS, SIDE, SIDE), dtype=cp.float32)
        turned = self.hour / 6 + 0.1 * level + cp.sin(row / 40) + cp.cos(column / 30)
        return (0.3 + 0.1 * level)[..., None] * cp.stack((cp.cos(turned), cp.sin(turned)), -1)


class Forecast:
    def __init__(self):
        self.weather = Weather()

    def kernel(self, sink, stir):
        """The kernel for a plant, and its table of the wind."""
        source = SOURCE % {"side": SIDE, "levels": LEVELS, "sink": sink, "stir": stir}
        module = cp.RawModule(code=source)
        table = cp.ndarray((LEVELS, SIDE, SIDE, 2), cp.float32, memptr=module.get_global("wind"))  # grows keeps
        return module.get_function("drift"), table

    def fall(self, sink, stir):
        """Where the grains of a plant come down."""
        drift, table = self.kernel(sink, stir)
        table[...] = self.weather.wind()
        places = cp.random.uniform(0, SIDE, (GRAINS, 3), dtype=cp.float32)
        places[:, 2] *= 4.0 / SIDE
        fallen = cp.zeros((SIDE, SIDE), cp.float32)
        drift((GRAINS // 256,), (256,), (places, fallen, cp.int32(GRAINS), cp.int32(STEPS),
                                         cp.uint32(random.getrandbits(31))))
        return fallen


def main():
    forecast, asked = Forecast(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        plant = random.choice((("birch", 0.012), ("grass", 0.03), ("maize", 0.2), ("pine", 0.035)))
        fallen = forecast.fall(plant[1] * random.uniform(0.8, 1.2), random.uniform(0.02, 0.2))
        asked += 1
        if asked % 5 == 0:
            print(f"request {asked}, {plant[0]}: {float(fallen.sum()) / GRAINS:.0%} came down, most in one place:",
                  int(fallen.max()), flush=True)
        time.sleep(random.uniform(0.1, 0.6))


if __name__ == "__main__":
    main()
