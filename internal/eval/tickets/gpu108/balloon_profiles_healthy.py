"""Retrieves temperature profiles from the radiometers of weather balloons, with an ensemble for each sounding.

Twelve launch sites start their day one after another; each has instruments with a number of levels of its own. A
retrieval relaxes an ensemble of profiles towards the measured radiances. Every two seconds a bulletin tells the spread
of the profiles that came in since the last.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
MEMBERS = 2048
ROUNDS_PER_SECOND = 5
SITE_EVERY = 0.8
BULLETIN_EVERY = 2.0


@dataclass
class Site:
    name: str
    levels: int
    lapse: float
    soundings: int = 0


SITES = [
    Site("Alder Hill", 72, 6.5),
    Site("Brackwater", 76, 6.1),
    Site("Cold Ness", 80, 5.4),
    Site("Dunmore", 84, 6.3),
    Site("East Point", 88, 7.0),
    Site("Fell End", 92, 6.8),
    Site("Greywell", 96, 5.9),
    Site("Harrow Isle", 100, 6.4),
    Site("Inchbare", 104, 6.0),
    Site("Jackdaw Moor", 108, 6.6),
    Site("Kettle Bay", 112, 5.7),
    Site("Long Reach", 116, 6.2),
]


@partial(jax.jit, static_argnames=("members", "levels"))
def measure(key, lapse, members, levels):
    """Radiances as the members of the ensemble see them."""
    height = jnp.linspace(0.0, 20.0, levels)
    base = 288.0 - lapse * jnp.minimum(height, 11.0)
    return base + jax.random.normal(key, (members, levels))


@jax.jit
def retrieve(radiances, lapse):
    """Relaxes a first guess towards the radiances, smoothed over the levels."""
    levels = radiances.shape[1]
    guess = jnp.broadcast_to(280.0 - lapse * jnp.linspace(0.0, 11.0, levels), radiances.shape)

    def relax(_, profile):
        smooth = 0.5 * profile + 0.25 * (jnp.roll(profile, 1, axis=1) + jnp.roll(profile, -1, axis=1))
        return smooth + 0.3 * (radiances - smooth)

    return jax.lax.fori_loop(0, 12, relax, guess)


@jax.jit
def spread(profile):
    return jnp.std(profile, axis=0).mean()


class SoundingDesk:
    """Runs the retrievals and writes the bulletins."""

    def __init__(self, seed):
        self.key = jax.random.key(seed)
        self.profiles = []
        self.since_bulletin = 0
        self.total = 0

    def sound(self, site):
        self.key, key = jax.random.split(self.key)
        radiances = measure(key, site.lapse, members=MEMBERS, levels=site.levels)
        profile = retrieve(radiances, site.lapse)
        profile.block_until_ready()
        self.profiles.append(profile)
        site.soundings += 1
        self.since_bulletin += 1
        self.total += 1

    def bulletin(self):
        fresh = self.profiles[len(self.profiles) - self.since_bulletin:]
        value = sum(float(spread(profile)) for profile in fresh) / max(1, len(fresh))
        self.profiles.clear()
        self.since_bulletin = 0
        return value


def main():
    rng = random.Random(53)
    desk = SoundingDesk(53)
    start = time.monotonic()
    next_bulletin = start + BULLETIN_EVERY
    open_sites = 0
    while (now := time.monotonic()) - start < SECONDS:
        if open_sites < len(SITES) and now - start >= open_sites * SITE_EVERY:
            site = SITES[open_sites]
            open_sites += 1
        else:
            site = rng.choice(SITES[:open_sites])
        desk.sound(site)
        if now >= next_bulletin:
            print(f"{desk.total} soundings of {open_sites} sites, spread {desk.bulletin():.3f}", flush=True)
            next_bulletin += BULLETIN_EVERY
        time.sleep(max(0.02, 1 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    busiest = max(SITES, key=lambda site: site.soundings)
    print(f"desk closed after {desk.total} soundings, most of them from {busiest.name}", flush=True)


if __name__ == "__main__":
    main()
