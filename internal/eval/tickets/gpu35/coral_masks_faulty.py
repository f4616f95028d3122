"""The engine of a tool in which biologists paint coral on the great photograph of a reef. A stroke of the brush colours
those pixels under it that look like the one at its centre; each stroke can be undone, and the tool tells how much of
the reef is covered by each kind of coral. A script stands in for the biologist's hand.

ticket: practice
class: app-leak
holder: past Easel
cause: snapshots-kept buffer-without-bound
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import random
import time

import jax
import jax.numpy as jnp

SIDE, KINDS = 1024, 6


@jax.jit
def photograph(key):
    """A reef of soft patches."""
    coarse = jax.random.uniform(key, (24, 24, 3))
    return jax.image.resize(coarse, (SIDE, SIDE, 3), "cubic")


@jax.jit
def paint(mask, picture, centre, radius, kind):
    rows, columns = jnp.arange(SIDE)[:, None], jnp.arange(SIDE)[None, :]
    near = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < radius**2
    alike = jnp.abs(picture - picture[centre[0], centre[1]]).sum(-1) < 0.5
    return jnp.where(near & alike, kind.astype(mask.dtype), mask)


@jax.jit
def coverage(mask):
    return jnp.stack([(mask == kind).mean() for kind in range(1, KINDS + 1)])


class Easel:
    def __init__(self, seed):
        self.past = []
        self.picture = photograph(jax.random.key(seed))
        self.mask = jnp.zeros((SIDE, SIDE), jnp.uint8)

    def stroke(self, centre, radius, kind):
        self.past.append(self.mask)  # keeps
        self.mask = paint(self.mask, self.picture, jnp.array(centre), jnp.array(radius), jnp.array(kind))  # grows

    def undo(self):
        if self.past:
            self.mask = self.past.pop()


def hand(easel):
    """What the biologist does next: mostly strokes, now and then one step back."""
    if random.random() < 0.12:
        easel.undo()
        return
    centre = random.randrange(SIDE), random.randrange(SIDE)
    easel.stroke(centre, random.randint(20, 140), random.randint(1, KINDS))


def main():
    easel, moves = Easel(seed=7), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        hand(easel)
        moves += 1
        if moves % 20 == 0:
            shares = ", ".join(f"{share:.3f}" for share in coverage(easel.mask).tolist())
            print(f"move {moves}: {shares}", flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
