"""Dust of a comet under the sun's gravity and the pressure of its light. To see what the integrator does, its steps are
decorated so that what the last ones returned is recorded; the energy printed and the picture of the tail (how many
grains lie in each cell lately) come from there.

ticket: practice
class: none
"""

import collections
import functools
import os
import random
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(7)
device = "cuda" if torch.cuda.is_available() else "cpu"
GRAINS, CELLS, LATELY = 60_000, 48, 12
SUN, LIGHT = 1.0, 0.15


def recorded(function):
    """Remembers when a function was called lately and what it returned, as function.calls."""
    calls = collections.deque(maxlen=LATELY)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        begun = time.perf_counter()
        result = function(*args, **kwargs)
        calls.append((begun, time.perf_counter() - begun, result))
        return result

    wrapper.calls = calls
    return wrapper


def acceleration(place, pressure):
    far = place.norm(dim=1, keepdim=True).clamp(min=0.05)
    return -(SUN - pressure) * place / far ** 3


@recorded
def step(place, speed, pressure, dt):
    """One leapfrog step."""
    half = speed + 0.5 * dt * acceleration(place, pressure)
    place = place + dt * half
    speed = half + 0.5 * dt * acceleration(place, pressure)
    return place, speed


def energy(place, speed):
    return (0.5 * speed.square().sum(1) - SUN / place.norm(dim=1).clamp(min=0.05)).mean().item()


def tail(steps):
    """A picture of where the grains were in the last steps."""
    picture = torch.zeros(CELLS * CELLS, device=device)
    for _, _, (place, _) in steps:
        cell = ((place[:, :2] + 2) / 4 * CELLS).long().clamp(0, CELLS - 1)
        picture += torch.bincount(cell[:, 0] * CELLS + cell[:, 1], minlength=CELLS * CELLS)
    return picture / max(len(steps), 1)


def nucleus():
    place = torch.tensor([1.2, 0.0, 0.0], device=device) + 0.01 * torch.randn(GRAINS, 3, device=device)
    speed = torch.tensor([0.0, 0.9, 0.0], device=device) + 0.02 * torch.randn(GRAINS, 3, device=device)
    return place, speed


pressure = LIGHT * torch.rand(GRAINS, 1, device=device)
place, speed = nucleus()
end, said, steps = time.time() + float(os.environ.get("SECONDS", "45")), time.time(), 0
while time.time() < end:
    place, speed = step(place, speed, pressure, random.choice((0.01, 0.02)))
    steps += 1
    if time.time() - said > 2:
        said = time.time()
        latest = list(step.calls)
        took = sum(seconds for _, seconds, _ in latest) / len(latest)
        print("step", steps, "energy", round(energy(place, speed), 4), "fullest cell",
              round(tail(latest).max().item()), "took", round(1000 * took, 2), "ms", flush=True)
    time.sleep(random.uniform(0.08, 0.3))
