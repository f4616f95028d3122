"""Throwing floor of a silk mill.

Raw silk is twisted on spindles into organzine. A patrol walks along the frames, takes a length of the strand from a
few spindles at a time and checks how even the twist is. A spindle outside the tolerance is noted as a fault, its
traveller is greased, and the overseer can ask what the fault at hand was about.

    ticket: practice
    class: none
"""
import os
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 0.2
SPINDLES = 24
STOP = 4
SAMPLES = 131072
TURNS_PER_METRE = 560.0
TOLERANCE = 14.0


class SpindleFault(Exception):
    """The twist of a strand is outside the tolerance."""

    def __init__(self, spindle, swing):
        super().__init__(f"spindle {spindle.number} swings by {swing:.1f} turns")
        self.spindle = spindle
        self.swing = swing


@dataclass
class Spindle:
    number: int
    wear: float
    greased: int = 0
    passed: int = 0


class TwistTester:
    """Untwists a sample of the strand and reads the turns along it."""

    def __init__(self, seed):
        self.rng = torch.Generator(device=DEVICE).manual_seed(seed)
        self.along = torch.linspace(0.0, 6.2832 * 40, SAMPLES, device=DEVICE)

    def sample(self, spindle):
        turns = torch.randn(SAMPLES, generator=self.rng, device=DEVICE)
        turns.mul_(2.0).add_(torch.sin(self.along), alpha=spindle.wear).add_(TURNS_PER_METRE)
        return turns


class Patrol:
    def __init__(self, tester):
        self.tester = tester
        self.spindles = [Spindle(n, 25.0 if n % STOP == 1 else 6.0) for n in range(SPINDLES)]
        self.position = 0
        self.faults = 0
        self._last_fault = None

    def inspect(self, spindle):
        turns = self.tester.sample(spindle)
        swing = (turns - TURNS_PER_METRE).abs()
        level = float(swing.mean())
        if level > TOLERANCE:
            raise SpindleFault(spindle, level)
        spindle.passed += 1
        return level

    def next_stop(self):
        stop = self.spindles[self.position:self.position + STOP]
        self.position = (self.position + STOP) % SPINDLES
        return stop

    def walk(self):
        levels = []
        for spindle in self.next_stop():
            try:
                levels.append(self.inspect(spindle))
            except SpindleFault as fault:
                self.faults += 1
                self._last_fault = fault
                self.attend(spindle)
        return sum(levels) / len(levels)

    def attend(self, spindle):
        spindle.greased += 1
        if spindle.greased % 5 == 0:
            spindle.wear = 24.0 + spindle.number / SPINDLES

    def describe_last(self):
        if self._last_fault is None:
            return "no fault"
        fault = self._last_fault
        return f"{fault} (greased {fault.spindle.greased} times)"


def main():
    patrol = Patrol(TwistTester(seed=1790))
    start = time.monotonic()
    rounds = 0
    level = 0.0
    while time.monotonic() - start < SECONDS:
        level = patrol.walk()
        rounds += 1
        if rounds % 15 == 0:
            print(f"round {rounds}: mean swing {level:.2f}, {patrol.faults} faults, {patrol.describe_last()}",
                  flush=True)
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    passed = sum(spindle.passed for spindle in patrol.spindles)
    print(f"floor walked: {passed} samples passed, {patrol.faults} faults", flush=True)


if __name__ == "__main__":
    main()
