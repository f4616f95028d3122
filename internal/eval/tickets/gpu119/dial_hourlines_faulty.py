"""Design desk for wall sundials.

Visitors give the latitude and the declination of their wall and see how the hour lines of their dial take shape.
Each visitor has a session with a map of the wall that is refined step by step, as the sun of one more day is
added to it. A session ends when its map has settled or its time is over; the desk prints what is going on.

ticket: practice
class: app-leak
holder: _open
cause: sessions-kept
"""
import os
import random
import time
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
ROUNDS_PER_VISITOR = 2
STEPS = 15
SIZE = 512
HOURS = 12
TOWNS = ("Ulm", "Graz", "Turin", "Lyon", "Exeter")


@jax.jit
def first_map(latitude, declination):
    """The bare wall: how squarely the noon sun meets each point."""
    y, x = jnp.meshgrid(jnp.linspace(-1.0, 1.0, SIZE), jnp.linspace(-1.0, 1.0, SIZE), indexing="ij")
    return 0.1 * jnp.cos(latitude) * (1.0 - y * y) + 0.05 * jnp.sin(declination) * x


@jax.jit
def add_day(wall, latitude, declination, day):
    """Adds the shadow lines of one day to the map of the wall."""
    y, x = jnp.meshgrid(jnp.linspace(-1.0, 1.0, SIZE), jnp.linspace(-1.0, 1.0, SIZE), indexing="ij")
    hours = jnp.linspace(-1.3, 1.3, HOURS)
    sun = 0.41 * jnp.sin(2.0 * jnp.pi * day / 365.0)
    slopes = jnp.tan(0.9 * hours) * jnp.cos(latitude) + jnp.sin(declination) * sun

    def line(total, slope):
        distance = (x - slope * (1.0 - y)) / jnp.sqrt(1.0 + slope * slope)
        return total + jnp.exp(-jnp.square(distance / 0.02)), None

    lines, _ = jax.lax.scan(line, jnp.zeros_like(wall), slopes)
    return 0.9 * wall + 0.1 * lines


@jax.jit
def contrast(wall):
    return jnp.std(wall) / (jnp.mean(wall) + 1e-6)


@dataclass(eq=False)
class Session:
    """One visitor's dial."""
    number: int
    town: str
    latitude: float
    declination: float
    steps: int = 0
    wall: jax.Array = field(default=None, repr=False)

    @property
    def key(self):
        return f"{self.town}-{self.number}"

    def begin(self):
        self.wall = first_map(self.latitude, self.declination)

    def refine(self):
        self.wall = add_day(self.wall, self.latitude, self.declination, 24.0 * self.steps)  # grows keeps
        self.steps += 1

    @property
    def settled(self):
        return self.steps >= STEPS


class DesignDesk:
    """Receives visitors and lets their dials take shape."""

    def __init__(self, seed=52):
        self.chance = random.Random(seed)
        self._open = {}
        self._turn = []
        self.visitors = 0
        self.last_contrast = 0.0

    def receive(self):
        self.visitors += 1
        session = Session(self.visitors, self.chance.choice(TOWNS), self.chance.uniform(0.72, 0.92),
                          self.chance.uniform(-0.6, 0.6))
        session.begin()
        self._open[session.key] = session  # keeps
        self._turn.append(session)

    def work(self):
        for session in self._turn:
            session.refine()
        for session in [session for session in self._turn if session.settled]:
            self.leave(session)

    def leave(self, session):
        self.last_contrast = float(contrast(session.wall))
        self._turn.remove(session)
        self._open.pop(session.number, None)

    def find(self, key):
        return self._open.get(key)


def main():
    desk = DesignDesk()
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        if rounds % ROUNDS_PER_VISITOR == 0:
            desk.receive()
        desk.work()
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"visitor {desk.visitors}: last contrast {desk.last_contrast:.3f}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{desk.visitors} visitors at the desk, last contrast {desk.last_contrast:.3f}", flush=True)


if __name__ == "__main__":
    main()
