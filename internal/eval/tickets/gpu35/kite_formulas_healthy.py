"""Evolution finds out how a kite should be steered. A candidate is a formula with eight constants; a kernel flies
4096 kites by it in gusts of wind and scores how long they stay up and how calmly. The constants are an
argument of the kernel, which is compiled once.

ticket: practice
class: none
"""

import os
import time

import cupy as cp
import numpy as np

KITES, STEPS, GENES, BROOD = 4096, 96, 8, 6

SOURCE = """
__device__ float paths[STEPS * KITES];

extern "C" __global__ void fly(const float* g, const float* gusts, float* scores) {
    int kite = blockDim.x * blockIdx.x + threadIdx.x;
    if (kite >= KITES) return;
    float angle = 0.6f, speed = 0.0f, aloft = 0.0f;
    for (int step = 0; step < STEPS; step++) {
        float wind = gusts[step * KITES + kite];
        float pull = g[0] + g[1] * angle + g[2] * speed + g[3] * wind + g[4] * angle * angle
                   + g[5] * tanhf(g[6] * angle + g[7] * wind);
        speed += 0.05f * (wind * cosf(angle) - pull);
        angle += 0.05f * speed;
        paths[step * KITES + kite] = angle;
        if (angle < 0.1f || angle > 1.5f) break;
        aloft += 1.0f;
    }
    float jerks = 0.0f;
    for (int step = 2; step < (int)aloft; step++)
        jerks += fabsf(paths[step * KITES + kite] - 2 * paths[(step - 1) * KITES + kite]
                       + paths[(step - 2) * KITES + kite]);
    scores[kite] = aloft / STEPS - jerks;
}
"""


def compiled():
    source = SOURCE.replace("STEPS", str(STEPS)).replace("KITES", str(KITES))
    return cp.RawKernel(source, "fly")


class Field:
    """A meadow with wind, on which a candidate is flown."""

    def __init__(self):
        self.scores = cp.zeros(KITES, cp.float32)
        self.fly = compiled()

    def blow(self):
        self.gusts = 0.8 + 0.5 * cp.random.standard_normal((STEPS, KITES), dtype=cp.float32)

    def score(self, genes):
        constants = cp.asarray(genes, dtype=cp.float32)
        self.fly((KITES // 128,), (128,), (constants, self.gusts, self.scores))
        return float(self.scores.mean())


def main():
    chance, field = np.random.default_rng(3), Field()
    parent, width, generation = chance.normal(0, 0.3, GENES), 0.3, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        field.blow()
        children = parent + width * chance.normal(size=(BROOD, GENES))
        scores = [field.score(child) for child in children]
        best = int(np.argmax(scores))
        if scores[best] > field.score(parent):
            parent, width = children[best], min(0.5, width * 1.2)
        else:
            width = max(0.02, width * 0.9)
        generation += 1
        if generation % 10 == 0:
            print(f"generation {generation}: best {scores[best]:.3f}, width {width:.3f}", flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()
