"""Strain gauges in the ice belt of an icebreaker show where floes press on the hull.

Each contact of a floe gets a number and a pressure field of its own, which is followed as the floe slides aft. A
contact is over when the floe breaks and clears the hull, or when it runs into a neighbour and the two go on as one.
The engineer reads the load of the belt every few seconds.

ticket: practice
class: app-leak
holder: contacts
cause: entries-left
"""
import collections
import os
import random
import time
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
CONTACTS_PER_ROUND = 3
FIELD_ROWS, FIELD_COLUMNS = 384, 512
BELT_ROWS, BELT_COLUMNS = 1536, 2048


@dataclass
class Contact:
    number: int
    frame: int
    field: object
    rounds: int = 0


class IceBelt:
    """The accumulated fatigue of the plating."""

    def __init__(self):
        self.fatigue = cp.zeros((BELT_ROWS, BELT_COLUMNS), dtype=cp.float32)

    def press(self, contact):
        column = contact.frame % (BELT_COLUMNS - FIELD_COLUMNS)
        patch = self.fatigue[:FIELD_ROWS, column:column + FIELD_COLUMNS]
        patch += 0.001 * contact.field

    def worst(self):
        return float(self.fatigue.max())


class ContactTable:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = cp.random.default_rng(seed)
        self.contacts = {}
        self.sliding = collections.deque()
        self.next_number = 1
        self.cleared = 0
        self.joined = 0

    def open(self, now):
        number = self.next_number
        self.next_number += 1
        field = self.generator.standard_normal((FIELD_ROWS, FIELD_COLUMNS), dtype=cp.float32)  # grows
        cp.abs(field, out=field)
        self.contacts[number] = Contact(number, self.random.randrange(BELT_COLUMNS), field)  # keeps
        self.sliding.append((now + 2 * ROUNDS_PER_SECOND, number))

    def slide(self, belt):
        for _, number in list(self.sliding)[-6:]:
            contact = self.contacts[number]
            contact.field *= 0.95
            contact.frame += 3
            contact.rounds += 1
            belt.press(contact)

    def close(self, now):
        while self.sliding and self.sliding[0][0] <= now:
            _, number = self.sliding.popleft()
            if number % 3 == 0 and self.sliding:
                self.join(number, self.sliding[0][1])
            else:
                self.clear(number)

    def clear(self, number):
        del self.contacts[number]
        self.cleared += 1

    def join(self, number, neighbour):
        ending = self.contacts[number]
        into = self.contacts[neighbour]
        into.field += 0.5 * ending.field
        into.frame = (into.frame + ending.frame) // 2
        self.joined += 1

    def load(self):
        latest = [self.contacts[number].field.sum() for _, number in list(self.sliding)[-CONTACTS_PER_ROUND:]]
        return float(sum(latest)) / 1000.0


class EngineRoom:
    def __init__(self, seed):
        self.belt = IceBelt()
        self.table = ContactTable(seed)
        self.now = 0

    def step(self):
        for _ in range(CONTACTS_PER_ROUND):
            self.table.open(self.now)
        self.table.slide(self.belt)
        self.table.close(self.now)
        self.now += 1

    def report(self):
        return (f"round {self.now}: load {self.table.load():.1f} kN, worst fatigue {self.belt.worst():.3f}, "
                f"{self.table.cleared} cleared, {self.table.joined} joined")


def main():
    room = EngineRoom(seed=90)
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        room.step()
        if room.now % (3 * ROUNDS_PER_SECOND) == 0:
            print(room.report(), flush=True)
        time.sleep(max(0.0, start + room.now / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"through the ice: {room.table.cleared} floes cleared", flush=True)


if __name__ == "__main__":
    main()
