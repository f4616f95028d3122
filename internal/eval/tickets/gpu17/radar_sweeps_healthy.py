"""A radar with many small aerials watches the sky, in jax. For every aircraft that it follows, it listens into the
direction where it should be by now and a little to both sides, and corrects the bearing by what is heard. The weights
of the aerials for a direction are the same each time, so they are computed for steps of a fifth of a
degree, and the last ones are remembered.

ticket: practice
class: none
"""

import functools
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

AERIALS, TONES, AIRCRAFT, ASIDE, STEP = 128, 384, 4, 0.4, 0.2


@jax.jit
def weigh(bearing):
    """What each aerial has to be turned by for each tone, to listen into a direction."""
    places = jnp.arange(AERIALS) * 0.5
    tones = 1 + 0.2 * jnp.linspace(-1, 1, TONES)
    turn = 2 * jnp.pi * jnp.sin(jnp.deg2rad(bearing)) * places[:, None] * tones
    return jnp.exp(-1j * turn).astype(jnp.complex64) * jnp.hanning(AERIALS)[:, None]


@functools.lru_cache(maxsize=16)
def steering(step):
    """The weights for a direction, which is a number of steps away from straight ahead."""
    return weigh(step * STEP)


@jax.jit
def hear(weights, echoes):
    return (jnp.abs((weights * echoes).sum(0)) ** 2).mean()


@jax.jit
def echoes_from(key, bearings):
    """What the aerials get, from all aircraft and as noise."""
    places = jnp.arange(AERIALS) * 0.5
    tones = 1 + 0.2 * jnp.linspace(-1, 1, TONES)
    turns = 2 * jnp.pi * jnp.sin(jnp.deg2rad(bearings))[:, None, None] * places[:, None] * tones
    noise = jax.random.normal(key, (2, AERIALS, TONES))
    return (jnp.exp(1j * turns).sum(0) + 0.5 * (noise[0] + 1j * noise[1])).astype(jnp.complex64)


class Track:
    def __init__(self, bearing):
        self.bearing, self.speed = bearing, 0.0

    def follow(self, echoes):
        """Listens around where it should be, and moves towards where it is louder."""
        guess = self.bearing + self.speed
        steps = [round((guess + aside) / STEP) for aside in (-ASIDE, 0.0, ASIDE)]
        left, middle, right = (float(hear(steering(step), echoes)) for step in steps)
        wrong = ASIDE * (right - left) / (left + middle + right + 1e-6)
        self.speed = 0.9 * self.speed + 0.1 * wrong
        self.bearing = max(-60.0, min(60.0, guess + 0.5 * wrong))
        return middle


def main():
    true = np.random.uniform(-45, 45, AIRCRAFT)
    tracks = [Track(float(bearing) + random.uniform(-0.3, 0.3)) for bearing in true]
    end, key, sweep = time.time() + float(os.environ.get("SECONDS", "45")), jax.random.PRNGKey(11), 0
    while time.time() < end:
        key, luck = jax.random.split(key)
        true = np.clip(true + np.random.uniform(-0.05, 0.05, AIRCRAFT), -58, 58)
        echoes = echoes_from(luck, jnp.asarray(true, jnp.float32))
        loud = [track.follow(echoes) for track in tracks]
        sweep += 1
        if sweep % 12 == 0:
            wrong = np.abs(np.array([track.bearing for track in tracks]) - true).mean()
            print("sweep", sweep, "off by", round(float(wrong), 3), "loudest", round(max(loud), 1), flush=True)
        time.sleep(random.uniform(0.15, 0.45))


if __name__ == "__main__":
    main()
