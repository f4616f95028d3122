"""Looks for a lens that stays sharp over a range of distances. A lens is a pupil with some errors of its wave front; by
a Fourier transform comes from it how it blurs a point at some defocus. Lenses are bred: from the best ones come new
ones with small changes. How a lens blurs is needed for its sharpness, its evenness and its light, so it is remembered.

ticket: practice
class: app-leak
holder: blur lru_cache
cause: cache-without-bound
"""

import functools
import os
import random
import time

import torch

SIDE, TERMS, PARENTS, CHILDREN = 256, 8, 5, 6
DEFOCUS = (-2.0, -1.0, 0.0, 1.0, 2.0)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@functools.lru_cache(maxsize=1)
def pupil():
    """Where the pupil is open, and the shapes a wave front can have over it."""
    line = torch.linspace(-2, 2, SIDE, device=DEVICE)
    down, across = torch.meshgrid(line, line, indexing="ij")
    far = (down ** 2 + across ** 2).sqrt()
    around = torch.atan2(down, across)
    shapes = [far ** (2 + number // 2) * torch.cos(number * around) for number in range(TERMS)]
    return (far < 1).float(), far, torch.stack(shapes)


class Lens:
    def __init__(self, errors):
        self.errors = errors

    @functools.lru_cache(maxsize=None)  # keeps
    def blur(self, defocus):
        """What becomes of a point of light at that defocus."""
        opening, far, shapes = pupil()
        front = torch.einsum("n,nij->ij", self.errors, shapes) + defocus * far ** 2
        field = torch.fft.fft2(torch.polar(opening, front))
        light = field.real ** 2 + field.imag ** 2
        return torch.fft.fftshift(light / light.sum())  # grows

    def sharpness(self):
        return sum((self.blur(defocus) ** 2).sum() for defocus in DEFOCUS) / len(DEFOCUS)

    def evenness(self):
        middle = self.blur(0.0)
        return -sum((self.blur(defocus) - middle).abs().sum() for defocus in DEFOCUS)

    def light(self):
        half, near = SIDE // 2, 12
        return sum(self.blur(defocus)[half - near:half + near, half - near:half + near].sum() for defocus in DEFOCUS)

    def mark(self):
        return float(20 * self.sharpness() + 0.2 * self.evenness() + self.light())

    def changed(self, by):
        return Lens(self.errors + by * torch.randn(TERMS, device=DEVICE))


class Breeding:
    def __init__(self):
        lenses = [Lens(torch.randn(TERMS, device=DEVICE)) for _ in range(PARENTS)]
        self.best = [(lens.mark(), lens) for lens in lenses]

    def generation(self, by):
        for _ in range(CHILDREN):
            child = random.choice(self.best)[1].changed(by)
            self.best.append((child.mark(), child))
            time.sleep(random.uniform(0.05, 0.2))
        self.best = sorted(self.best, key=lambda pair: -pair[0])[:PARENTS]
        return self.best[0][0]


def main():
    torch.set_num_threads(1)
    breeding, number, by = Breeding(), 0, 0.5
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        mark, number, by = breeding.generation(by), number + 1, max(0.05, by * 0.97)
        if number % 3 == 0:
            print("generation", number, "best", round(mark, 4), "change", round(by, 3), flush=True)


if __name__ == "__main__":
    main()
