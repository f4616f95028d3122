"""Follows boats through a long canal tunnel in which they are legged along in the dark.

A boat reports only a bell at each ventilation shaft, so its place is tracked by a cloud of particles that drift with
the pace of the leggers and are weighed against the bells. The tunnel is divided into sections; a boat that enters a
section makes those already in it look out for its lamp. Boats leave at the far portal and report how long they took.

    ticket: practice
    class: none
"""
import os
import random
import time
from functools import partial

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "45"))
PARTICLES = 131072
LENGTH = 1600.0
SECTIONS = 4
ROUND = 0.125
ENTER_EVERY = 3
NAMES = ("Heron", "Gudgeon", "Water Lily", "Persevere", "Two Sisters", "Ironstone", "Larkspur")


@jax.jit
def muster(key):
    """A cloud at the near portal: place, pace, stamina and weight of each particle."""
    spread = jax.random.normal(key, (PARTICLES, 4)) * jnp.array([4.0, 6.0, 0.05, 0.0])
    return spread + jnp.array([0.0, 110.0, 1.0, 1.0])


@partial(jax.jit, static_argnames=("noise",))
def drift(cloud, key, bell, noise):
    """Moves the cloud by one round and weighs it against the bell; returns the cloud and the likely place."""
    shaken = cloud[:, 1] + noise * jax.random.normal(key, (PARTICLES,))
    place = cloud[:, 0] + shaken * cloud[:, 2]
    weight = jnp.exp(-0.5 * ((place - bell) / 60.0) ** 2) + 1e-6
    likely = jnp.sum(place * weight) / jnp.sum(weight)
    moved = jnp.stack([0.7 * place + 0.3 * likely, cloud[:, 1], cloud[:, 2] * 0.999, weight], axis=1)
    return moved, likely


class Transit:
    """One boat on its way from portal to portal."""

    def __init__(self, number, name, pace, key):
        self.number = number
        self.name = name
        self.pace = pace
        self.cloud = muster(key)
        self.rounds = 0
        self.place = 0.0
        self.section = 0
        self.lookout = False

    def follow(self, key, wobble):
        self.rounds += 1
        bell = self.pace * self.rounds + wobble
        self.cloud, likely = drift(self.cloud, key, bell, noise=3.0)
        self.place = float(likely)


class TunnelOffice:
    """Knows the boats in the tunnel, by number and by the section they are in."""

    def __init__(self):
        self._boats = {}
        self._sections = [set() for _ in range(SECTIONS)]
        self.through = 0
        self.mean_rounds = 0.0

    def boats(self):
        return list(self._boats.values())

    def admit(self, transit):
        self._boats[transit.number] = transit
        self._sections[0].add(transit)

    def place(self, transit):
        """Books a boat into the section that its place falls in."""
        section = min(SECTIONS - 1, max(transit.section, int(transit.place / LENGTH * SECTIONS)))
        if section == transit.section:
            return
        for other in self._sections[section]:
            other.lookout = True
        self._sections[transit.section].discard(transit)
        self._sections[section].add(transit)
        transit.section = section

    def discharge(self, transit):
        self._boats.pop(transit.number)
        self._sections[transit.section].discard(transit)
        self.through += 1
        self.mean_rounds += (transit.rounds - self.mean_rounds) / self.through


def main():
    rng = random.Random(55)
    root = jax.random.key(55)
    office = TunnelOffice()
    end = time.time() + SECONDS
    spoken = time.time()
    rounds = entered = 0
    while time.time() < end:
        started = time.time()
        if rounds % ENTER_EVERY == 0:
            entered += 1
            root, key = jax.random.split(root)
            office.admit(Transit(entered, rng.choice(NAMES), rng.uniform(95.0, 125.0), key))
        root, key = jax.random.split(root)
        for transit in office.boats():
            transit.follow(jax.random.fold_in(key, transit.number), rng.uniform(-20.0, 20.0))
            office.place(transit)
            if transit.place >= LENGTH or transit.rounds > 40:
                office.discharge(transit)
        rounds += 1
        if time.time() - spoken > 3.0:
            spoken = time.time()
            print(f"{entered} boats entered, {office.through} through, {office.mean_rounds:.1f} rounds", flush=True)
        time.sleep(max(0.01, ROUND - (time.time() - started)))
    print(f"tunnel closed for the night, {office.through} boats through in {rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
