"""A lantern museum's desk cleans and enlarges glass slides. A request carries an idempotency key: a client that got no
answer in time sends the same slide under the same key again, and the desk then gives the answer that it made already.

ticket: practice
class: app-leak
holder: answers Desk
cause: cache-without-bound entries-left
"""

import os
import random
import time
import uuid
from collections import deque

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, SCALE, PATIENCE = 224, 2, 6


@jax.jit
def enlarge(weights, slide):
    """Takes the fading away and doubles the size."""
    colours = jnp.tanh(slide @ weights["in"]) @ weights["out"]
    toned = slide + 0.1 * (colours - colours.mean(axis=(0, 1)))
    large = jax.image.resize(toned, (SCALE * SIDE, SCALE * SIDE, 3), "cubic")
    return jnp.clip(large, 0, 1)


class Desk:
    def __init__(self, key):
        first, second = jax.random.split(key)
        self.weights = {"in": jax.random.normal(first, (3, 32)), "out": jax.random.normal(second, (32, 3)) / 32}
        self.answers = {}
        self.made = self.repeated = 0

    def handle(self, key, slide):
        if key in self.answers:
            self.repeated += 1
            return self.answers[key]
        answer = enlarge(self.weights, jnp.asarray(slide))  # grows
        self.answers[key] = answer  # keeps
        self.made += 1
        return answer


class Client:
    """Sends slides, and some of them again."""

    def __init__(self):
        self.sent = deque(maxlen=PATIENCE)
        self.numbers = np.random.default_rng(17)

    def request(self):
        if self.sent and random.random() < 0.25:
            return random.choice(self.sent)
        slide = self.numbers.random((SIDE, SIDE, 3), dtype=np.float32)
        self.sent.append((uuid.uuid4().hex, slide))
        return self.sent[-1]


def main():
    desk, client, brightness = Desk(jax.random.key(5)), Client(), 0.0
    printed = time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        answer = desk.handle(*client.request())
        brightness += 0.05 * (float(answer.mean()) - brightness)
        if time.time() - printed > 3:
            print(f"{desk.made} enlarged, {desk.repeated} repeated, brightness {brightness:.3f}", flush=True)
            printed = time.time()
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
