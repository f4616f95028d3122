"""A piano tuner listens to the strings of a grand and to the modes of its soundboard.

Each string is struck, its partials are compared with a stretched target, and a first correction is applied at once.
Tension spreads to the neighbours, so every string gets a second pass when a section of the piano has been gone over;
what the second pass needs is prepared at the first.

ticket: practice
class: app-leak
holder: _second_pass
cause: closure-kept
"""
import math
import os
import random
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 5
SECTION = 8
KEYS = 88
SAMPLES = 256 * 1024
RATE = 44_100.0


class Soundboard:
    """Damped modes that colour whatever the strings send to the bridge."""

    def __init__(self, modes=12):
        time_axis = torch.arange(SAMPLES, device=DEVICE) / RATE
        shapes = []
        for mode in range(modes):
            decay = torch.exp(-time_axis * (2.0 + mode))
            shapes.append(decay * torch.sin(2 * math.pi * (55.0 + 37.0 * mode) * time_axis))
        self.shapes = torch.stack(shapes)
        self.time_axis = time_axis

    def colour(self, tone, key):
        return tone + 0.05 * self.shapes[key % len(self.shapes)]


class Piano:
    def __init__(self, seed):
        noise = random.Random(seed)
        self.cents = [noise.gauss(0.0, 6.0) for _ in range(KEYS)]

    def frequency(self, key):
        return 27.5 * 2.0 ** ((key + self.cents[key] / 100.0) / 12.0)

    def pull(self, key, cents):
        self.cents[key] += cents
        for neighbour in (key - 1, key + 1):
            if 0 <= neighbour < KEYS:
                self.cents[neighbour] -= 0.06 * cents


class Tuner:
    def __init__(self, piano, board):
        self.piano = piano
        self.board = board
        self._second_pass = []
        self._refined = 0
        self.sections = 0

    def strike(self, key):
        tone = torch.sin(2 * math.pi * self.piano.frequency(key) * self.board.time_axis)
        return self.board.colour(tone, key)

    def target(self, key):
        stretch = 0.02 * (key - 48) ** 2 / 48.0
        frequency = 27.5 * 2.0 ** ((key + stretch / 100.0) / 12.0)
        return torch.sin(2 * math.pi * frequency * self.board.time_axis)

    def first_pass(self, key):
        heard = self.strike(key)
        wanted = self.target(key)
        residual = heard - wanted  # grows
        self.piano.pull(key, -0.7 * self.piano.cents[key])

        def refine():
            weight = float(residual[: SAMPLES // 8].abs().mean())
            self.piano.pull(key, -0.5 * min(1.0, weight) * self.piano.cents[key])
            return weight

        self._second_pass.append(refine)  # keeps

    def second_pass(self):
        weights = [refine() for refine in self._second_pass[self._refined:]]
        self._refined = len(self._second_pass)
        self.sections += 1
        return sum(weights) / len(weights)

    def deviation(self):
        return math.sqrt(sum(cents * cents for cents in self.piano.cents) / KEYS)


def weather(piano, noise):
    """The room's humidity pulls at all strings a little."""
    for key in range(KEYS):
        piano.cents[key] += noise.gauss(0.0, 0.05)


def main():
    torch.set_num_threads(1)
    noise = random.Random(29)
    piano = Piano(seed=7)
    tuner = Tuner(piano, Soundboard())
    start = time.monotonic()
    rounds = 0
    loudness = 0.0
    while time.monotonic() - start < SECONDS:
        tuner.first_pass(rounds % KEYS)
        rounds += 1
        weather(piano, noise)
        if rounds % SECTION == 0:
            loudness = tuner.second_pass()
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"key {rounds % KEYS}: deviation {tuner.deviation():.2f} cents, beats {loudness:.3f}, "
                  f"{tuner.sections} sections", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"tuned {rounds} strings, {tuner._refined} refined, deviation {tuner.deviation():.2f} cents", flush=True)


if __name__ == "__main__":
    main()
