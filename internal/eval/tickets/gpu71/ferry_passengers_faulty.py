"""A ferry line finds out whether tickets change hands during the crossing. When a passenger boards, the walk past the
camera is encoded and waits under the ticket's number; at the landing the walk is encoded again and joined with it.
Some passengers stay on board for the way back or leave with the cars, where there is no camera.

ticket: practice
class: app-leak
holder: waiting Join join
cause: entries-left buffer-without-bound
"""

import os
import random
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

FRAMES, JOINTS, WIDTH = 256, 51, 512


@jax.jit
def encode(weights, walk):
    """A code for each frame of the walk, smoothed over its neighbours."""
    hidden = jax.nn.gelu(walk @ weights["first"])
    codes = hidden @ weights["second"]
    codes = (jnp.roll(codes, 1, axis=0) + codes + jnp.roll(codes, -1, axis=0)) / 3
    return codes / (jnp.linalg.norm(codes, axis=1, keepdims=True) + 1e-6)


@jax.jit
def likeness(boarding, landing):
    return jnp.max(boarding @ landing.T, axis=1).mean()


class Join:
    """Joins the walks at both ends of a crossing by sailing and ticket."""

    def __init__(self, encode):
        self.encode = encode
        self.waiting = {}

    def board(self, sailing, ticket, walk):
        codes = self.encode(walk)  # grows
        self.waiting[sailing, ticket] = codes  # keeps

    def land(self, sailing, ticket, walk):
        boarding = self.waiting.pop((sailing, ticket), None)
        return None if boarding is None else float(likeness(boarding, self.encode(walk)))

    def arrived(self, sailing):
        """The sailing is over, and how many of its passengers passed no camera."""
        return sum(number == sailing for number, _ in self.waiting)


def camera(rng):
    pace = rng.uniform(0.1, 0.4)
    phases = rng.uniform(0, 2 * np.pi, JOINTS)
    walk = np.sin(pace * np.arange(FRAMES)[:, None] + phases)
    return walk.astype(np.float32)


def main():
    rng = np.random.default_rng(5)
    weights = {
        "first": jnp.asarray(rng.standard_normal((JOINTS, WIDTH), dtype=np.float32) / JOINTS**0.5),
        "second": jnp.asarray(rng.standard_normal((WIDTH, WIDTH), dtype=np.float32) / WIDTH**0.5),
    }
    join, sailing, suspects, missed = Join(partial(encode, weights)), 0, 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        tickets = random.sample(range(100_000), random.randint(12, 24))
        for ticket in tickets:
            join.board(sailing, ticket, camera(rng))
        time.sleep(random.uniform(0.1, 0.2))
        for ticket in tickets:
            if random.random() < 0.75:
                like = join.land(sailing, ticket, camera(rng))
                suspects += like is not None and like < 0.3
        missed += join.arrived(sailing)
        sailing += 1
        if sailing % 10 == 0:
            print(f"{sailing} sailings, {suspects} tickets changed hands, {missed} passed no camera", flush=True)


if __name__ == "__main__":
    main()
