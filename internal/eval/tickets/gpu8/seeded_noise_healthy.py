"""Pictures are drawn from seeded noise, and varied when someone comes back for one; needs a GPU, for CuPy. Each seed
has a generator of random numbers, a Mersenne twister; the last four are kept for the variations.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import curand


class Studio:
    """Draws pictures by a made-up denoiser: blurs, and a small net on the colours of each place."""

    def __init__(self, size=96, width=32):
        weights = np.random.default_rng(4)
        self.size, self.generators = size, {}
        self.into = cp.asarray(weights.normal(size=(4, width), scale=0.5).astype(np.float32))
        self.out = cp.asarray(weights.normal(size=(width, 4), scale=0.2).astype(np.float32))

    def generator(self, seed):
        if seed not in self.generators:
            twister = cp.random.RandomState(np.uint64(seed), method=curand.CURAND_RNG_PSEUDO_MT19937)
            self.generators[seed] = twister
            if len(self.generators) > 4:
                del self.generators[next(iter(self.generators))]
        return self.generators[seed]

    def denoise(self, picture, level):
        blurred = picture
        for axis in (0, 1):
            blurred = (cp.roll(blurred, 1, axis) + 2 * blurred + cp.roll(blurred, -1, axis)) / 4
        hidden = cp.tanh(blurred.reshape(-1, 4) @ self.into)
        return (1 - level) * picture + level * (blurred + 0.1 * (hidden @ self.out).reshape(picture.shape))

    def draw(self, seed, steps):
        noise = self.generator(seed)
        shape = (self.size, self.size, 4)
        picture = noise.normal(0.0, 1.0, shape, np.float32)
        for step in range(steps):
            rest = 1 - step / steps
            picture = self.denoise(picture, 0.5) + 0.1 * rest * noise.normal(0.0, 1.0, shape, np.float32)
            time.sleep(0.02)
        return cp.asnumpy(picture)

    def vary(self, seed, picture, steps):
        """The picture, changed a little; the noise goes on from where it was."""
        noise = self.generator(seed)
        moved = cp.asarray(picture) + 0.2 * noise.normal(0.0, 1.0, picture.shape, np.float32)
        for _ in range(steps):
            moved = self.denoise(moved, 0.3)
            time.sleep(0.02)
        return cp.asnumpy(moved)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    studio, album, drawn, varied = Studio(), {}, 0, 0
    while time.time() < end:
        if album and random.random() < 0.25:
            seed = random.choice(list(album))
            album[seed] = studio.vary(seed, album[seed], random.randint(4, 10))
            varied += 1
        else:
            seed = random.getrandbits(31)
            album[seed] = studio.draw(seed, random.randint(15, 30))
            drawn += 1
            if len(album) > 12:
                del album[next(iter(album))]
        if (drawn + varied) % 10 == 0:
            print(drawn, "drawn", varied, "varied, spread", round(float(album[seed].std()), 3), flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
