"""A self-righting lifeboat is tried in a wave basin: the boat is rolled over by breaking waves and must come up again.
The program makes the surface of the basin from many wave components, lets the model boat roll in it, and works out
the mean wave height and the steepest slope around the hull over the last moments of the trial.

ticket: practice
class: none
"""
import math
import os
import time
from dataclasses import dataclass

import cupy as cp

ROWS, COLUMNS = 320, 512
COMPONENTS = 6
ROUNDS_A_SECOND = 9
WINDOW_MS = 2000.0
RIGHTED_BELOW = 0.35


@dataclass
class Frame:
    """The surface of the basin at one moment."""
    at: float
    surface: cp.ndarray
    mean_height: float


class WaveBasin:
    """Makes the water's surface from components with random directions and phases."""

    def __init__(self, seed):
        dice = cp.random.RandomState(seed)
        self.across = cp.linspace(0.0, 12.0, ROWS, dtype=cp.float32)[:, None]
        self.along = cp.linspace(0.0, 20.0, COLUMNS, dtype=cp.float32)[None, :]
        self.heading = cp.asnumpy(dice.uniform(-0.9, 0.9, COMPONENTS))
        self.phase = cp.asnumpy(dice.uniform(0.0, 2.0 * math.pi, COMPONENTS))
        self.length = cp.asnumpy(dice.uniform(1.5, 6.0, COMPONENTS))

    def surface(self, now):
        water = cp.zeros((ROWS, COLUMNS), dtype=cp.float32)
        for heading, phase, length in zip(self.heading, self.phase, self.length):
            number = 2.0 * math.pi / float(length)
            speed = math.sqrt(9.81 * number)
            place = self.along * math.cos(heading) + self.across * math.sin(heading)
            water += 0.08 * cp.sin(number * place - speed * now + float(phase))
        return water


class ModelBoat:
    """The model's roll angle, pushed by the slope beneath it and brought back by its righting moment."""

    def __init__(self):
        self.angle = 2.6
        self.rate = 0.0
        self.rightings = 0
        self.upright = False

    def roll(self, slope, step):
        moment = -4.0 * math.sin(self.angle) - 0.8 * self.rate + 9.0 * slope
        self.rate += moment * step
        self.angle += self.rate * step
        if not self.upright and abs(self.angle) < RIGHTED_BELOW:
            self.upright = True
            self.rightings += 1

    def turn_over(self):
        self.angle, self.rate, self.upright = 2.6, 0.0, False


class BasinRecorder:
    """Holds the last moments of the basin and draws the figures of the trial from them."""

    def __init__(self):
        self.history = []

    def record(self, surface, now):
        frame = Frame(now, surface, float(cp.abs(surface).mean()))
        self.history.append(frame)
        while now - self.history[0].at > WINDOW_MS / 1000.0:
            self.history.pop(0)

    def recent(self, frames=9):
        return self.history[-frames:]

    def mean_height(self):
        heights = [frame.mean_height for frame in self.recent()]
        return sum(heights) / len(heights)

    def steepest(self):
        slopes = [float(cp.abs(cp.diff(frame.surface, axis=1)).max()) for frame in self.recent(3)]
        return max(slopes)


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    basin = WaveBasin(seed=57)
    boat = ModelBoat()
    began = time.monotonic()
    recorder = BasinRecorder()
    step = 1.0 / ROUNDS_A_SECOND
    rounds = 0
    while time.monotonic() - began < seconds:
        now = time.monotonic() - began
        surface = basin.surface(now)
        recorder.record(surface, now)
        middle = surface[ROWS // 2, COLUMNS // 2 - 1:COLUMNS // 2 + 2]
        boat.roll(float(middle[2] - middle[0]), step)
        rounds += 1
        if rounds % 20 == 0:
            print(f"{now:.1f} s: roll {boat.angle:+.2f} rad, mean height {recorder.mean_height():.3f} m, steepest "
                  f"step {recorder.steepest():.4f} m, righted {boat.rightings} times", flush=True)
        if rounds % 60 == 0:
            boat.turn_over()
        time.sleep(step)
    print(f"trial ends after {rounds} rounds, the boat righted itself {boat.rightings} times", flush=True)


if __name__ == "__main__":
    main()
