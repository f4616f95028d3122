"""How bright does a cello sound under a varnish? Kernel ridge regression guesses it from the spectrum of the varnish,
and cross-validation, which is repeated with new folds, chooses the kernel's width. Each fold has a memory pool of its
own, so that the printed line can tell what the folds need at most.

ticket: practice
class: none
"""

import os
import random
import time
from collections import defaultdict

import cupy as cp

VARNISHES, LINES, FOLDS, RIDGE = 600, 40, 5, 0.1
WIDTHS = 2.0, 4.0, 8.0, 16.0


def cook():
    """Spectra of varnishes and the brightness that was heard."""
    spectra = cp.random.standard_normal((VARNISHES, LINES), dtype=cp.float32)
    noise = cp.random.standard_normal(VARNISHES, dtype=cp.float32)
    return spectra, cp.tanh(spectra[:, :5].sum(axis=1)) + 0.1 * noise


def kernel(left, right, width):
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :]
    distances = squares - 2 * (left @ right.T)
    return cp.exp(distances / (-2 * width**2))


def fold_error(spectra, brightness, train, held_out, width):
    gram = kernel(spectra[train], spectra[train], width)
    gram[cp.diag_indices(len(gram))] += RIDGE
    weights = cp.linalg.solve(gram, brightness[train])
    guesses = kernel(spectra[held_out], spectra[train], width) @ weights
    return float(cp.mean((guesses - brightness[held_out]) ** 2))


class Validation:
    def __init__(self, spectra, brightness):
        self.spectra, self.brightness = spectra, brightness
        self.errors = defaultdict(lambda: (0.0, 0))
        self.most = 0

    def validate(self):
        """Every fold of a new division, with a width that is drawn for it."""
        order = cp.random.permutation(VARNISHES)
        for fold in range(FOLDS):
            held_out, width = order[fold::FOLDS], random.choice(WIDTHS)
            train = cp.concatenate([order[other::FOLDS] for other in range(FOLDS) if other != fold])
            pool = cp.cuda.MemoryPool()
            with cp.cuda.using_allocator(pool.malloc):
                error = fold_error(self.spectra, self.brightness, train, held_out, width)
            self.most = max(self.most, pool.total_bytes())
            total, count = self.errors[width]
            self.errors[width] = total + error, count + 1
            time.sleep(random.uniform(0.15, 0.35))

    def __str__(self):
        means = {width: total / count for width, (total, count) in self.errors.items()}
        best = min(means, key=means.get)
        return f"width {best} is best ({means[best]:.4f}), a fold needs at most {self.most / 2**20:.1f} MiB"


def main():
    cp.random.seed(3)
    validation, repeat = Validation(*cook()), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        validation.validate()
        repeat += 1
        print(f"{repeat} divisions: {validation}", flush=True)


if __name__ == "__main__":
    main()
