"""Members of a seed library swap packets: a member names what the garden lacks and gets the nearest seed on the shelf.

For each swap the program works out how well every accession would do on every bed of the garden, offers the best
one, and goes to the shelf for the packet. The desk is open for some seconds and then shut while the shelves are put
in order and the trait table is weighed anew.

ticket: practice
class: app-leak
holder: _swaps
cause: entries-left
"""

import os
import random
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ACCESSIONS = 1024
BEDS = 256
TRAITS = 48
OPEN_SECONDS = 6.0
SHUT_SECONDS = 4.0
SWAPS_A_SECOND = 8


class PacketMissing(LookupError):
    """The card is in the catalogue, but there is no packet in the drawer."""


@dataclass
class Swap:
    number: int
    member: str
    suitability: jax.Array


@jax.jit
def suit(beds, traits, weights):
    """How well each accession would do on each bed."""
    likeness = (beds * weights) @ traits.T
    spread = jnp.sum(beds**2, axis=1)[:, None] + jnp.sum(traits**2, axis=1)[None, :]
    return jnp.tanh(likeness / jnp.sqrt(spread + 1.0))


@jax.jit
def best_accession(suitability):
    return jnp.argmax(jnp.mean(suitability, axis=0))


@jax.jit
def reweigh(weights, traits):
    spread = jnp.std(traits * weights, axis=0)
    return 0.9 * weights + 0.1 / (spread + 0.1)


class Shelf:
    def __init__(self, dice):
        self._dice = dice
        self.handed_out = 0

    def take(self, accession):
        if self._dice.random() < 0.5:
            raise PacketMissing(accession)
        self.handed_out += 1
        return f"packet of accession {accession}"


class SwapDesk:
    """Takes the wishes of members, and sees each of them to its end."""

    def __init__(self, shelf):
        self.shelf = shelf
        self.traits = jax.random.normal(jax.random.PRNGKey(71), (ACCESSIONS, TRAITS))
        self.weights = jnp.ones(TRAITS)
        self.apologies = 0
        self._swaps = {}
        self._numbers = 0

    def open_swap(self, member, beds):
        self._numbers += 1
        suitability = suit(beds, self.traits, self.weights)  # grows
        self._swaps[self._numbers] = Swap(self._numbers, member, suitability)  # keeps
        return self._numbers

    def offer(self, number):
        return int(best_accession(self._swaps[number].suitability))

    def complete(self, number):
        accession = self.offer(number)
        try:
            packet = self.shelf.take(accession)
            del self._swaps[number]
        except PacketMissing:
            self.apologies += 1
            return None
        return packet

    def put_in_order(self):
        self.weights = reweigh(self.weights, self.traits)
        return float(self.weights.mean())


def garden_of(key):
    soil, light = jax.random.split(key)
    beds = jax.random.normal(soil, (BEDS, TRAITS))
    return beds + 0.3 * jax.random.uniform(light, (1, TRAITS))


def work_at_desk(desk, key, until):
    while time.monotonic() < until:
        begun = time.monotonic()
        key, garden_key = jax.random.split(key)
        number = desk.open_swap(f"member {int(garden_key[0]) % 500}", garden_of(garden_key))
        desk.complete(number)
        time.sleep(max(0.01, 1.0 / SWAPS_A_SECOND - (time.monotonic() - begun)))
    return key


def main():
    desk = SwapDesk(Shelf(random.Random(72)))
    key = jax.random.PRNGKey(73)
    end = time.monotonic() + SECONDS
    day = 0
    while time.monotonic() < end:
        day += 1
        key = work_at_desk(desk, key, min(end, time.monotonic() + OPEN_SECONDS))
        print(f"day {day}: {desk.shelf.handed_out} packets handed out, {desk.apologies} apologies", flush=True)
        shut_until = min(end, time.monotonic() + SHUT_SECONDS)
        mean = 1.0
        while time.monotonic() < shut_until:
            mean = desk.put_in_order()
            time.sleep(0.2)
        print(f"day {day}: shelves in order, mean weight {mean:.3f}", flush=True)
    print(f"season over after {day} days, {desk.shelf.handed_out} packets swapped", flush=True)


if __name__ == "__main__":
    main()
