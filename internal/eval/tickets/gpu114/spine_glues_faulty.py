"""Bookbinding: curing of animal glue on rounded spines.

A bindery tests glue recipes by calculation before it mixes them. Each job spreads glue over the spine of a
book block and follows heat and moisture while it dries; recipes that set with cracks are turned down by the
solver and the foreman notes why. The others get a mark for their strength.

ticket: practice
class: app-leak
holder: rejected
cause: exception-kept
"""
import os
import random
import time
from collections import Counter

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
JOBS_A_SECOND = 8
SPINE = (256, 512)
DRYING_STEPS = 6
LIBRARY_BLOCKS = 48


class CureError(Exception):
    """The film of glue does not hold."""

    def __init__(self, reason, step):
        super().__init__(f"{reason} at step {step}")
        self.reason = reason
        self.step = step


class Recipe:
    def __init__(self, number, rng):
        self.number = number
        self.water = rng.uniform(0.4, 0.6)
        self.glycerine = rng.uniform(0.02, 0.10)
        self.brittle = number % 2 == 0

    @property
    def stretch(self):
        return 0.2 + 4.0 * self.glycerine


class SpineLibrary:
    """Surface profiles of book blocks, measured once."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.profiles = torch.rand(LIBRARY_BLOCKS, *SPINE, device=DEVICE, generator=generator)

    def profile(self, number):
        return self.profiles[number % LIBRARY_BLOCKS]


def diffuse(field):
    return 0.25 * (field.roll(1, 0) + field.roll(-1, 0) + field.roll(1, 1) + field.roll(-1, 1))


class CuringSolver:
    """Heat and moisture in the film, step by step."""

    def cure(self, recipe, profile):
        moisture = recipe.water * (1.0 + 0.1 * profile)
        heat = torch.full_like(profile, 60.0)
        for step in range(DRYING_STEPS):
            heat = heat + 0.3 * (diffuse(heat) - heat) - 2.0  # grows
            moisture = moisture + 0.2 * (diffuse(moisture) - moisture)  # grows
            moisture.mul_(0.9)
            self.inspect(recipe, float(moisture.std()), step)
        return float((1.0 - moisture).mean()) * recipe.stretch + 1e-4 * float(heat.mean())

    def inspect(self, recipe, spread, step):
        if recipe.brittle and step == DRYING_STEPS - 1:
            raise CureError("cracks" if spread < 0.004 else "lifting edge", step)


class Foreman:
    """Runs the jobs and keeps the book of recipes."""

    def __init__(self, solver, library):
        self.solver = solver
        self.library = library
        self.rejected = []
        self.reasons = Counter()
        self.best = (0.0, None)
        self.jobs = 0

    def run(self, recipe):
        self.jobs += 1
        try:
            strength = self.solver.cure(recipe, self.library.profile(recipe.number))
        except CureError as error:
            self.reasons[error.reason] += 1
            self.rejected.append((recipe.number, error))  # keeps
            return None
        if strength > self.best[0]:
            self.best = (strength, recipe.number)
        return strength

    def last_rejection(self):
        if not self.rejected:
            return "none"
        number, error = self.rejected[-1]
        return f"recipe {number}: {error}"


def main():
    torch.set_num_threads(1)
    rng = random.Random(64)
    foreman = Foreman(CuringSolver(), SpineLibrary(12))
    start = time.monotonic()
    due, next_print, number = start, start + 2.5, 0
    while time.monotonic() - start < SECONDS:
        number += 1
        foreman.run(Recipe(number, rng))
        if time.monotonic() >= next_print:
            next_print += 2.5
            print(f"{foreman.jobs} recipes, best {foreman.best[1]} with {foreman.best[0]:.3f}, "
                  f"reasons {dict(foreman.reasons)}, last {foreman.last_rejection()}", flush=True)
        due += 1.0 / JOBS_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"recipe book closed with {foreman.jobs} trials", flush=True)


if __name__ == "__main__":
    main()
