"""A bus garage tests the brakes of its buses on a roller stand before they go out.  Each test gives a curve of the
brake force on the left and the right wheel; the foreman compares a bus with those tested just before, as the rollers
get warm and their readings drift.  A bus that brakes too unevenly stays in.

ticket: practice
class: host-growth
holder: _tests
cause: results-kept
"""
import collections
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 6
RECENT_S = 10.0
SAMPLES = 90_000
FLEET = 140


class BrakeTest:
    """The outcome of one run on the rollers."""

    def __init__(self, bus, at, forces):
        self.bus = bus
        self.at = at
        self.forces = forces
        self.peak = float(forces.max())
        left, right = forces.mean(axis=1)
        self.unevenness = abs(float(left) - float(right)) / max(float(left), float(right))


class RollerStand:
    """Turns the wheels and measures what the brakes do against it."""

    def __init__(self, rng):
        self.rng = rng
        self.time = np.linspace(0.0, 6.0, SAMPLES, dtype=np.float32)
        self.ramp = np.clip(self.time / 2.5, 0.0, 1.0)
        self.wear = rng.uniform(0.75, 1.0, (FLEET, 2)).astype(np.float32)
        self.warmth = 0.0
        self.noise = rng.normal(0.0, 0.15, (2, 16 * SAMPLES)).astype(np.float32)

    def measure(self, bus, now):
        self.warmth = 0.98 * self.warmth + 0.02
        first = int(self.rng.integers(0, 15 * SAMPLES))
        grip = self.wear[bus][:, None] * (1.0 - 0.05 * self.warmth)
        forces = grip * self.ramp * 14.0 + self.noise[:, first:first + SAMPLES]  # grows
        self.wear[bus] = np.maximum(0.5, self.wear[bus] - 0.001)
        return BrakeTest(bus, now, forces)


class Foreman:
    """Judges each bus by the tests before it."""

    def __init__(self, span):
        self.span = span
        self._tests = []
        self.kept_in = collections.Counter()
        self.passed = 0

    def record(self, test):
        self._tests.append(test)  # keeps

    def recent(self, now):
        """The tests of the last seconds, oldest first."""
        tests = [test for test in self._tests if now - test.at <= self.span]
        return tests

    def drift(self, now):
        """How the end of the curve has moved from the oldest to the newest of the recent tests, in kN."""
        tests = self.recent(now)
        half = len(tests) // 2
        if half == 0:
            return 0.0
        older = [float(test.forces[:, -500:].mean()) for test in tests[:half][-10:]]
        newer = [float(test.forces[:, -500:].mean()) for test in tests[half:][-10:]]
        return sum(newer) / len(newer) - sum(older) / len(older)

    def judge(self, test, now):
        self.record(test)
        drift = self.drift(now)
        if test.unevenness > 0.18 or test.peak + drift < 9.0:
            self.kept_in[test.bus] += 1
            return False, drift
        self.passed += 1
        return True, drift


def repair(stand, bus, rng):
    """New pads on both wheels."""
    stand.wear[bus] = rng.uniform(0.92, 1.0, 2)


def main():
    rng = np.random.default_rng(2207)
    stand = RollerStand(rng)
    foreman = Foreman(RECENT_S)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        now = time.monotonic()
        bus = int(rng.integers(0, FLEET))
        test = stand.measure(bus, now)
        fit, drift = foreman.judge(test, now)
        if not fit:
            repair(stand, bus, rng)
        rounds += 1
        if rounds % (ROUNDS_A_SECOND * 3) == 0:
            print(f"test {rounds:5d}  bus {bus:3d}  peak {test.peak:5.2f} kN  unevenness {test.unevenness:.3f}  "
                  f"drift {drift:+.3f} kN  kept in {sum(foreman.kept_in.values())}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"stand closed: {foreman.passed} passed, {sum(foreman.kept_in.values())} kept in", flush=True)


if __name__ == "__main__":
    main()
