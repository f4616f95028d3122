"""Dispatch of the cabins of a gondola line with a siding halfway.

Every cabin that leaves the valley gets a profile of its seats and doors under the load of its riders. On
the way the profile is looked at for a lean to one side, and the dispatcher spaces the cabins by it. At the
top the cabin is checked by its profile and swings back; other cabins are led into the siding halfway, where
they wait for the evening rush.

ticket: practice
class: app-leak
holder: profiles
cause: entries-left
"""
import os
import random
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
SPOTS = 512
STATES = 1024
TOP_AFTER = 18
SIDING_AFTER = 12
LEAN_LIMIT = 0.001


@dataclass
class Cabin:
    """A cabin on the rope, known by its number on the dispatch sheet."""

    number: int
    riders: int
    left_at: int
    to_siding: bool

    def arrives(self, round_number):
        ride = SIDING_AFTER if self.to_siding else TOP_AFTER
        return round_number - self.left_at >= ride


@jax.jit
def load_profile(key, riders):
    """Load on each spot of the cabin for a spread of states of the rope."""
    seats = jax.random.normal(key, (SPOTS, STATES), dtype=jnp.float32)
    return seats * 0.2 + riders / 24.0


@jax.jit
def lean_of(profile, phase):
    """Lean of the cabin: the difference between its two halves, swung by the rope."""
    halves = profile.reshape(2, SPOTS // 2, STATES).mean(axis=(1, 2))
    return (halves[0] - halves[1]) * (1.0 + 0.3 * jnp.sin(phase))


@jax.jit
def check_of(profile):
    """Wear at the spots that bear most."""
    worst = jnp.max(profile, axis=1)
    return jnp.mean(worst)


class GondolaLine:
    """Cabins on the rope and the sheet of the dispatcher."""

    def __init__(self, seed):
        self.key = jax.random.PRNGKey(seed)
        self.chance = random.Random(seed)
        self.on_rope = []
        self.profiles = {}
        self.sent = 0
        self.topped = 0
        self.sidelined = 0
        self.wear = 0.0
        self.leaning = 0

    def send(self, round_number):
        self.sent += 1
        self.key, key = jax.random.split(self.key)
        cabin = Cabin(self.sent, self.chance.randint(2, 24), round_number, self.sent % 2 == 0)
        profile = load_profile(key, float(cabin.riders))  # grows
        self.profiles[cabin.number] = profile  # keeps
        self.on_rope.append(cabin)

    def advance(self, round_number):
        still_riding = []
        for cabin in self.on_rope:
            if cabin.arrives(round_number):
                self.take_off(cabin)
                continue
            lean = float(lean_of(self.profiles[cabin.number], 0.2 * round_number))
            self.leaning += abs(lean) > LEAN_LIMIT
            still_riding.append(cabin)
        self.on_rope = still_riding

    def take_off(self, cabin):
        if cabin.to_siding:
            self.sidelined += 1
            self.wear = 0.9 * self.wear + 0.1 * float(check_of(self.profiles[cabin.number]))
        else:
            self.topped += 1
            self.wear = 0.9 * self.wear + 0.1 * float(check_of(self.profiles.pop(cabin.number)))

    def riders_on_rope(self):
        return sum(cabin.riders for cabin in self.on_rope)


def main():
    line = GondolaLine(seed=29)
    started = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        line.send(rounds)
        line.advance(rounds)
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"round {rounds:5d}  on rope {len(line.on_rope):3d} cabins, {line.riders_on_rope():4d} riders  "
                  f"wear {line.wear:.3f}  leaning {line.leaning}", flush=True)
        due = started + rounds / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"line closed: {line.sent} sent, {line.topped} at the top, {line.sidelined} in the siding", flush=True)


if __name__ == "__main__":
    main()
