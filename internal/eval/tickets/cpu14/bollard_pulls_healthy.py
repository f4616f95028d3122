"""Sea trials of a tugboat: the bollard pull test.

The tug strains at a shore bollard while a load cell, the torque meters of both shafts and a radar on the quay record
what happens. From the last minute of radar frames the wash behind the tug is averaged; from the last seconds of torque
the steadiness of the engines is judged, and the pull that can be certified follows from both.

ticket: practice
class: none
"""
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
WASH_SPAN = 400
TORQUE_SPAN = 32
SHAFTS = 2
BURST = 8000
RADAR_SHAPE = (160, 160)


def latest(frames, span):
    """The last span frames, oldest first."""
    return frames[-span:]


class Tug:
    """Engines that hunt a little round the ordered power, and propellers that make wash."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.power = 0.0
        self.heading = 0.0
        rows, columns = np.mgrid[0:RADAR_SHAPE[0], 0:RADAR_SHAPE[1]].astype(np.float32)
        self.rows = rows / RADAR_SHAPE[0]
        self.columns = columns / RADAR_SHAPE[1] - 0.5

    def order(self, power):
        self.power += 0.1 * (power - self.power)
        self.heading = 0.95 * self.heading + 0.05 * float(self.rng.normal(0.0, 0.3))

    def shaft_torque(self):
        phase = self.rng.uniform(0.0, 6.28, size=(SHAFTS, 1))
        hunting = np.sin(np.linspace(0.0, 30.0, BURST)[None, :] + phase) * 0.03
        return self.power * (1.0 + hunting) + self.rng.normal(0.0, 0.01, size=(SHAFTS, BURST))

    def radar_echo(self):
        centre = self.columns - self.heading * self.rows
        wash = self.power * np.exp(-(centre / (0.05 + 0.15 * self.rows)) ** 2)
        return (wash + self.rng.random(RADAR_SHAPE, dtype=np.float32) * 0.2).astype(np.float32)


class PullRecorder:
    """Takes down the measurements and works out what the certificate needs."""

    def __init__(self):
        self._wash = []
        self._torque = []
        self.background = np.random.default_rng(5).random((256, 160, 160), dtype=np.float32) * 0.1

    def record(self, torque, echo):
        self._torque.append(torque)
        self._wash.append(echo)
        self._wash = latest(self._wash, WASH_SPAN)

    def steadiness(self):
        self._torque = latest(self._torque, TORQUE_SPAN)
        means = np.array([burst.mean() for burst in self._torque])
        ripple = np.array([burst.std() for burst in self._torque])
        return float(1.0 - ripple.mean() / max(1e-6, abs(means.mean())))

    def wash_angle(self):
        sample = self._wash[::max(1, len(self._wash) // 24)]
        mean = sum(sample) / len(sample) - self.background[len(self._wash) % 256]
        far = mean[-40:].mean(axis=0)
        across = np.linspace(-0.5, 0.5, far.size)
        return float((far * across).sum() / max(1e-6, np.abs(far).sum()))


class PullTrial:
    """Steps of rising power with pauses between, as the surveyor asks for."""

    STEPS = (0.4, 0.6, 0.8, 1.0, 0.5)

    def __init__(self):
        self.tug = Tug(seed=88)
        self.recorder = PullRecorder()
        self.rounds = 0
        self.best = 0.0

    def step(self):
        ordered = self.STEPS[(self.rounds // 60) % len(self.STEPS)]
        self.tug.order(ordered)
        torque = self.tug.shaft_torque()
        self.recorder.record(torque, self.tug.radar_echo())
        self.rounds += 1
        steady = self.recorder.steadiness()
        angle = self.recorder.wash_angle()
        pull = 62.0 * self.tug.power * steady * float(np.cos(angle))
        self.best = max(self.best, pull)
        return pull, steady, angle


def main():
    trial = PullTrial()
    started = printed = time.monotonic()
    while time.monotonic() - started < SECONDS:
        turn = time.monotonic()
        pull, steady, angle = trial.step()
        if turn - printed >= 3.0:
            printed = turn
            print(f"round {trial.rounds}: pull {pull:.1f} t, steadiness {steady:.3f}, wash {angle:+.3f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - turn)))
    print(f"certified pull {trial.best:.1f} t after {trial.rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
