"""Towing runs of clipper models in a wave tank.

Each run drags the model of a hull through the tank at one speed and follows the waves it makes, with a
depth-averaged wave equation on the device. The runs go on a lane of their own beside the default stream, where the
drag of the runs so far is fitted to a curve over the speed.

ticket: practice
class: pool-growth
holder: -
cause: pool-for-each-stream
"""
import contextlib
import ctypes
import os
import random
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LENGTH = 1024
WIDTH = 512
STEPS_PER_TOW = 34
STEPS_A_SECOND = 20.0
SPEEDS = 12


class TowLane:
    """A non-default stream of the device, so that a tow does not wait for the fits."""

    def __init__(self, stream):
        self.stream = stream

    @classmethod
    def open(cls):
        if DEVICE == "cpu":
            return cls(None)
        handle = ctypes.c_void_p(0)
        status = torch.cuda.cudart().cudaStreamCreate(ctypes.addressof(handle))
        if int(status) != 0:
            raise RuntimeError(f"no stream for the tow: status {int(status)}")
        return cls(torch.cuda.ExternalStream(handle.value))

    def enter(self):
        if self.stream is None:
            return contextlib.nullcontext()
        self.stream.wait_stream(torch.cuda.current_stream())
        return torch.cuda.stream(self.stream)

    def join(self):
        if self.stream is not None:
            self.stream.synchronize()


class WaveTank:
    """The water of the tank: heights of two successive moments, and the hull that presses on it."""

    def __init__(self, hull, speed):
        self.hull = hull
        self.speed = speed
        self.height = torch.zeros(WIDTH, LENGTH, device=DEVICE)  # grows
        self.before = torch.zeros(WIDTH, LENGTH, device=DEVICE)  # grows
        self.moved = 0.0

    def step(self):
        self.moved += self.speed
        spread = torch.roll(self.height, 1, 0) + torch.roll(self.height, -1, 0)
        spread += torch.roll(self.height, 1, 1) + torch.roll(self.height, -1, 1)
        after = 1.99 * self.height - 0.99 * self.before + 0.2 * (spread - 4.0 * self.height)
        after -= 0.05 * torch.roll(self.hull, int(self.moved), 1)
        self.before, self.height = self.height, after

    def drag(self):
        pressing = torch.roll(self.hull, int(self.moved), 1)
        slope = self.height - torch.roll(self.height, 1, 1)
        return float((pressing * slope).sum().abs())


class TowingTank:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.hull = self.build_hull()
        self.waves = torch.zeros(SPEEDS, WIDTH, LENGTH, device=DEVICE)
        self.drags = [0.0] * SPEEDS
        self.tows = 0

    @staticmethod
    def build_hull():
        along = torch.linspace(-1.0, 1.0, LENGTH, device=DEVICE).unsqueeze(0) * 6.0
        across = torch.linspace(-1.0, 1.0, WIDTH, device=DEVICE).unsqueeze(1) * 9.0
        return torch.exp(-along.square()) * torch.exp(-across.square())

    def tow(self):
        """One run at a speed drawn at random; yields between steps, and writes down its drag."""
        place = self.rng.randrange(SPEEDS)
        lane = TowLane.open()
        with lane.enter():
            tank = WaveTank(self.hull, 1.0 + 0.5 * place)
        for _ in range(STEPS_PER_TOW):
            with lane.enter():
                tank.step()
            yield
        with lane.enter():
            self.drags[place] = tank.drag()
            self.waves[place].copy_(tank.height)
        lane.join()
        self.tows += 1

    def resistance(self):
        """How fast drag rises with speed, by least squares over the speeds towed so far."""
        towed = [(1.0 + 0.5 * place, drag) for place, drag in enumerate(self.drags) if drag > 0.0]
        if len(towed) < 2:
            return 0.0
        speed, drag = torch.tensor(towed).T
        speed = speed - speed.mean()
        return float((speed * drag).sum() / speed.square().sum())


def main():
    tank = TowingTank(seed=14)
    run = tank.tow()
    begun = time.monotonic()
    told = begun
    while time.monotonic() - begun < SECONDS:
        round_begun = time.monotonic()
        if next(run, "ended") == "ended":
            run = tank.tow()
        if round_begun - told > 2.0:
            told = round_begun
            print(f"{tank.tows} tows, resistance {tank.resistance():.3f} a speed, "
                  f"waves up to {float(tank.waves.abs().amax()):.3f}", flush=True)
        time.sleep(max(0.01, 1.0 / STEPS_A_SECOND - (time.monotonic() - round_begun)))
    print(f"done: {tank.tows} tows, resistance {tank.resistance():.3f} a speed", flush=True)


if __name__ == "__main__":
    main()
