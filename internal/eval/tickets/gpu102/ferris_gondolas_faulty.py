"""Sway of the gondolas of a ferris wheel under gusts of wind.

An ensemble of wheels turns slowly while each gondola swings about its pin. The pivot damper of a gondola answers to the
swing as it was a fraction of a second earlier, since the oil takes time to move, so the solver reads states of the
near past. Operators watch the share of gondolas whose swing is above the limit for boarding.

ticket: practice
class: app-leak
holder: _past
cause: buffer-without-bound
"""
import math
import os
import time
from collections import deque

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
MEMBERS = 4096
GONDOLAS = 36
STEP = 0.025
SUBSTEPS = 4
OIL_LAG_MS = 400
ROUNDS_PER_SECOND = 8


class SwayRecord:
    """States of the near past, by the time of the simulation in seconds."""

    def __init__(self, span):
        self.span = span
        self._past = deque()

    def push(self, stamp, state):
        self._past.append((stamp, state))  # keeps
        while stamp - self._past[0][0] > self.span:
            self._past.popleft()

    def at(self, stamp):
        """The latest state that is not younger than the stamp, or the oldest there is."""
        for when, state in reversed(self._past):
            if when <= stamp:
                return state
        return self._past[0][1]


class GustField:
    """Wind at the height of each gondola, a slow walk with a profile by height."""

    def __init__(self, generator):
        self.generator = generator
        self.speed = torch.full((MEMBERS, 1), 6.0, device=DEVICE)

    def advance(self):
        noise = torch.randn(MEMBERS, 1, generator=self.generator, device=DEVICE)
        self.speed.mul_(0.985).add_(0.09 + 0.35 * noise).clamp_(0.0, 28.0)

    def at_height(self, height):
        return self.speed * (1.0 + 0.25 * height)


class FerrisWheel:
    """Ensemble of wheels with swinging gondolas and oil dampers."""

    radius = 32.0
    arm = 2.1
    gravity = 9.81

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.places = torch.arange(GONDOLAS, device=DEVICE) * (2.0 * math.pi / GONDOLAS)
        self.drag = 0.004 + 0.002 * torch.rand(MEMBERS, GONDOLAS, generator=self.generator, device=DEVICE)
        self.load = 0.7 + 0.6 * torch.rand(MEMBERS, GONDOLAS, generator=self.generator, device=DEVICE)
        self.state = torch.zeros(2, MEMBERS, GONDOLAS, device=DEVICE)
        self.wind = GustField(self.generator)
        self.record = SwayRecord(span=3 * OIL_LAG_MS)
        self.clock = 0.0
        self.turn = 0.0
        self.record.push(self.clock, self.state)

    def acceleration(self, angle, rate, delayed_rate, height):
        gust = self.wind.at_height(height)
        push = self.drag * gust * gust.abs() * torch.cos(angle) / self.load
        pull = -(self.gravity / self.arm) * torch.sin(angle)
        return push + pull - 0.18 * rate - 0.35 * delayed_rate

    def advance(self):
        """One round: a few steps of the solver, then the state goes into the record."""
        delayed = self.record.at(self.clock - OIL_LAG_MS / 1000)
        angle, rate = self.state[0], self.state[1]
        for _ in range(SUBSTEPS):
            self.wind.advance()
            height = torch.sin(self.places + self.turn)
            rate = rate + STEP * self.acceleration(angle, rate, delayed[1], height)
            angle = angle + STEP * rate
            self.clock += STEP
            self.turn += 0.02 * STEP
        self.state = torch.stack((angle, rate))  # grows
        self.record.push(self.clock, self.state)

    def share_above(self, limit):
        return (self.state[0].abs() > limit).float().mean().item()

    def lowest_gondola(self):
        height = torch.sin(self.places + self.turn)
        return int(height.argmin().item())


def boarding_advice(share):
    if share > 0.30:
        return "hold boarding"
    if share > 0.10:
        return "board with a steward"
    return "board freely"


def main():
    torch.set_num_threads(1)
    wheel = FerrisWheel(seed=36)
    started = time.monotonic()
    next_print = started + 2.0
    rounds = 0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        wheel.advance()
        rounds += 1
        if beat >= next_print:
            share = wheel.share_above(math.radians(6.0))
            print(
                f"simulated {wheel.clock:7.1f} s: {share:6.1%} above the limit,"
                f" gondola {wheel.lowest_gondola():2d} at the platform, {boarding_advice(share)}",
                flush=True,
            )
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"closed after {rounds} rounds, {wheel.clock:.1f} s of wheel time", flush=True)


if __name__ == "__main__":
    main()
