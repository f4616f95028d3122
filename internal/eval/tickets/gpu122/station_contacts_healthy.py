"""Plotting room of an ocean weather ship.

The ship lies on station and plots what its radar hears: airliners that ask for a fix, passing vessels and the pilot
balloons it sends up itself. Each contact has a stack of echoes from which a matched filter tells its range rate. A
contact of which nothing was heard for five seconds leaves the plot; drifting ones are moved by the wind between fixes.

    ticket: practice
    class: none
"""
import os
import random
import time
from collections import Counter

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 12
PULSES, GATES, BEAMS = 64, 64, 64
SILENCE_SECONDS = 5.0
AIRCRAFT, VESSEL, BALLOON = "aircraft", "vessel", "balloon"
DRIFTING = {BALLOON}
ARRIVALS = {AIRCRAFT: 6, VESSEL: 12, BALLOON: 2}
SPEED = {AIRCRAFT: 0.13, VESSEL: 0.008, BALLOON: 0.01}


class Contact:
    def __init__(self, number, kind, position, now, echoes, fixes):
        self.number = number
        self.kind = kind
        self.position = position
        self.first_at = now
        self.heard_at = now
        self.moved_at = now
        self.echoes = echoes
        self.fixes_left = fixes
        self.range_rate = 0.0


class Radar:
    """Makes the echoes of a contact and the matched filter."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.replica = torch.hann_window(PULSES, device=DEVICE)

    def first_echoes(self):
        return torch.randn(PULSES, GATES, BEAMS, generator=self.generator, device=DEVICE)

    def fix(self, contact):
        pulse = torch.randn(GATES, BEAMS, generator=self.generator, device=DEVICE)
        contact.echoes[contact.fixes_left % PULSES].copy_(pulse)
        answer = (contact.echoes[:, 0, :] * self.replica[:, None]).sum(dim=0)
        contact.range_rate = float(answer.mean())


class PlottingRoom:
    def __init__(self, radar, seed):
        self.radar = radar
        self.dice = random.Random(seed)
        self.wind = (0.010, -0.004)
        self.numbers = 0
        self.wiped = Counter()
        self._plot = {}

    def detect(self, kind, now):
        self.numbers += 1
        position = [self.dice.uniform(-60.0, 60.0), self.dice.uniform(-60.0, 60.0)]
        contact = Contact(self.numbers, kind, position, now, self.radar.first_echoes(), self.dice.randint(3, 8))
        self._plot[contact.number] = contact
        return contact

    def hear(self, now):
        """A few contacts answer in every round, until they are out of reach."""
        in_reach = [contact for contact in self._plot.values() if contact.fixes_left]
        for contact in self.dice.sample(in_reach, min(4, len(in_reach))):
            contact.fixes_left -= 1
            contact.heard_at = now
            contact.position[0] += self.dice.gauss(0.0, SPEED[contact.kind])
            contact.position[1] += self.dice.gauss(0.0, SPEED[contact.kind])
            self.radar.fix(contact)

    def drift(self, now):
        """Moves the contacts that go with the wind to where they should be by now."""
        east, north = self.wind
        for contact in self._plot.values():
            if contact.kind in DRIFTING:
                elapsed = now - contact.moved_at
                contact.position[0] += east * elapsed
                contact.position[1] += north * elapsed
                contact.moved_at = now

    def wipe(self, now):
        silent = [contact for contact in self._plot.values() if now - contact.heard_at > SILENCE_SECONDS]
        for contact in silent:
            del self._plot[contact.number]
            self.wiped[contact.kind] += 1

    def nearest(self):
        if not self._plot:
            return None
        return min(self._plot.values(), key=lambda c: c.position[0] ** 2 + c.position[1] ** 2)


def keep_station(seconds):
    room = PlottingRoom(Radar(seed=5101), seed=5102)
    started = time.monotonic()
    turn = 0
    while time.monotonic() - started < seconds:
        now = time.monotonic() - started
        for kind, every in ARRIVALS.items():
            if turn % every == 0:
                room.detect(kind, now)
        room.hear(now)
        room.drift(now)
        room.wipe(now)
        turn += 1
        if turn % (3 * ROUNDS_PER_SECOND) == 0:
            near = room.nearest()
            print(f"{now:6.1f} s  contact {room.numbers}, nearest {near.kind} {near.number} "
                  f"at rate {near.range_rate:+.3f}", flush=True)
        time.sleep(max(0.0, started + turn / ROUNDS_PER_SECOND - time.monotonic()))
    return room


def main():
    torch.set_num_threads(1)
    room = keep_station(float(os.environ.get("SECONDS", "120")))
    print(f"relieved on station: {room.numbers} contacts plotted", flush=True)


if __name__ == "__main__":
    main()
