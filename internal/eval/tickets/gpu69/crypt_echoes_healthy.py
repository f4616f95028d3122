"""How would a chant sound in the crypts that an architect sketches? Every sketch gets a room model: which patch of wall
sends how much sound to which other patch, and what of it reaches the listener. The response to a clap follows by
passing the sound on from patch to patch, compiled because it is many small steps. The driest crypts are listed.

ticket: jax-ml/jax#16226
class: none
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import heapq
import time

import jax
import jax.numpy as jnp
import numpy as np

PATCHES, BOUNCES = 1_000, 60


class Crypt:
    """A vault with pillars; its walls are cut into patches."""

    def __init__(self, width, height, plaster, seed):
        self.width, self.height = width, height
        key_places, key_listener = jax.random.split(jax.random.key(seed))
        places = jax.random.uniform(key_places, (PATCHES, 3)) * jnp.array([width, 1.6 * width, height])
        distances = jnp.linalg.norm(places[:, None] - places[None, :], axis=-1)
        sent = 1.0 / (1.0 + distances**2)
        self.exchange = (1.0 - plaster) * sent / sent.sum(axis=0)
        self.heard = jax.random.uniform(key_listener, (PATCHES,)) / PATCHES

    def response(self, clap):
        """The loudness at the listener after each bounce."""
        return trace(self.exchange, self.heard, clap)


@jax.jit
def trace(exchange, heard, clap):
    def bounce(sound, _):
        sound = exchange @ sound
        return sound, heard @ sound

    _, loudness = jax.lax.scan(bounce, clap, length=BOUNCES)
    return loudness


def reverberation(loudness):
    """Bounces until the sound is a thousandth of what it was."""
    below = np.flatnonzero(loudness < 1e-3 * loudness[0])
    return int(below[0]) if below.size else BOUNCES


def sketch(random):
    width, height = random.uniform(6.0, 20.0), random.uniform(3.0, 8.0)
    return Crypt(width, height, random.uniform(0.05, 0.4), int(random.integers(1 << 30)))


def main():
    random = np.random.default_rng(5)
    clap = jnp.zeros(PATCHES).at[0].set(1.0)
    driest, heard = [], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        crypt = sketch(random)
        bounces = reverberation(np.asarray(crypt.response(clap)))
        heapq.heappush(driest, (-bounces, crypt.width, crypt.height))
        if len(driest) > 5:
            heapq.heappop(driest)
        heard += 1
        if heard % 10 == 0:
            best, width, height = max(driest)
            print(f"{heard} crypts, driest {width:.1f} x {height:.1f} m: {-best} bounces", flush=True)
        time.sleep(0.3)


if __name__ == "__main__":
    main()
