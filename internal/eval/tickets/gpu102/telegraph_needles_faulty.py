"""Needle telegraph demonstrations in a museum, with the long cables solved on the device.

A demonstration sends a word down a model of a submarine cable and shows how the needle at the far end swings late and
rounded. Each open circuit has the voltage along a bundle of cables of different insulation. A circuit is closed when
the word has arrived, and now and then a cable parts on the sea floor, which the guides like to show as well.

ticket: practice
class: app-leak
holder: _circuits
cause: entries-left
"""
import os
import random
import time

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
CABLES = 64
POINTS = 8192
SUBSTEPS = 6
BENCHES = 5
WORD_ROUNDS = 6
PART_CHANCE = 0.12
ROUNDS_PER_SECOND = 10


class Circuit:
    """A bundle of cables under voltage while a word is sent."""

    def __init__(self, number, insulation, bits):
        self.number = number
        self.insulation = insulation
        self.bits = bits
        self.age = 0
        self.voltage = cp.zeros((CABLES, POINTS), dtype=cp.float32)  # grows

    def drive(self):
        """Battery at the near end: copper or zinc to line, as the bit says."""
        self.voltage[:, :32] = 1.0 if self.bits[self.age % len(self.bits)] else -1.0

    def spread(self):
        """Kelvin's law of the cable, as explicit diffusion with losses through the insulation."""
        inner = self.voltage[:, 1:-1]
        bend = self.voltage[:, 2:] - 2.0 * inner + self.voltage[:, :-2]
        inner += 0.45 * bend - self.insulation * inner
        self.voltage[:, -1] = self.voltage[:, -2]

    def needle(self):
        return float(self.voltage[:, 34:42].mean())


class Switchboard:
    """Circuits by their number, for the needles on the wall."""

    def __init__(self, seed):
        rng = cp.random.RandomState(seed)
        self.insulations = (2e-4 + 4e-4 * rng.rand(16, CABLES, 1)).astype(cp.float32)
        self._circuits = {}
        self.next_number = 0

    def open(self, bits):
        number = self.next_number
        self.next_number += 1
        circuit = Circuit(number, self.insulations[number % len(self.insulations)], bits)
        self._circuits[number] = circuit  # keeps
        return number

    def circuit(self, number):
        return self._circuits[number]

    def close(self, number):
        del self._circuits[number]


class Gallery:
    """Benches with a demonstration each; every bench has the number of its circuit or None."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.board = Switchboard(seed)
        self.benches = [None] * BENCHES
        self.arrived = 0
        self.parted = 0
        self.swing = 0.0

    def word_bits(self):
        return [self.rng.random() < 0.5 for _ in range(WORD_ROUNDS)]

    def cable_parts(self, bench):
        """The cable parts: the needle drops and the bench is free for the next demonstration."""
        self.parted += 1
        self.swing *= 0.5
        self.benches[bench] = None

    def word_arrives(self, bench):
        self.arrived += 1
        self.board.close(self.benches[bench])
        self.benches[bench] = None

    def serve(self, bench):
        number = self.benches[bench]
        if number is None:
            self.benches[bench] = self.board.open(self.word_bits())
            return
        circuit = self.board.circuit(number)
        circuit.drive()
        for _ in range(SUBSTEPS):
            circuit.spread()
        circuit.age += 1
        self.swing = 0.9 * self.swing + 0.1 * abs(circuit.needle())
        if self.rng.random() < PART_CHANCE:
            self.cable_parts(bench)
        elif circuit.age >= WORD_ROUNDS:
            self.word_arrives(bench)

    def round(self):
        for bench in range(BENCHES):
            self.serve(bench)


def main():
    gallery = Gallery(seed=1858)
    started = time.monotonic()
    next_print = started + 2.0
    rounds = 0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        gallery.round()
        rounds += 1
        if beat >= next_print:
            print(f"round {rounds:4d}: {gallery.arrived} words arrived, {gallery.parted} cables parted,"
                  f" mean swing {gallery.swing:.4f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"last demonstration over: {gallery.arrived} words, {gallery.parted} cables parted", flush=True)


if __name__ == "__main__":
    main()
