"""Flicker control of the projector lamps in a small cinema.

Two projectors show one film after the other (short reels here, so that a test does not last an evening). Each frame
that is exposed is announced on the projector's signal. A screening has a flicker meter, which sums the brightness of
each pixel and its square and gives its verdict on the lamp when the credits are over. The lamps age from frame to
frame and are exchanged when they have become too dim.

    ticket: practice
    class: none
"""
import itertools
import math
import os
import random
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
HEIGHT, WIDTH = 720, 1280
FRAME_TIME = 0.1
DIM = 0.72


class Signal:
    def __init__(self):
        self.receivers = []

    def connect(self, receiver):
        self.receivers.append(receiver)

    def disconnect(self, receiver):
        self.receivers.remove(receiver)

    def emit(self, *values):
        for receiver in tuple(self.receivers):
            receiver(*values)


class Lamp:
    def __init__(self):
        self.hours = 0.0

    def brightness(self, tick):
        ripple = 0.02 * math.sin(2.4 * tick) * (1.0 + self.hours / 300.0)
        self.hours += 4.0
        return math.exp(-self.hours / 1500.0) + ripple


class Projector:
    def __init__(self, hall):
        self.hall = hall
        self.exposed = Signal()
        self.lamp = Lamp()
        self.exchanges = 0
        falloff = torch.linspace(-1, 1, WIDTH, device=device).square()[None, :]
        falloff = falloff + torch.linspace(-1, 1, HEIGHT, device=device).square()[:, None]
        self.vignette = 1.0 - 0.2 * falloff

    def show(self, tick):
        level = self.lamp.brightness(tick)
        picture = torch.rand(HEIGHT, WIDTH, device=device).mul_(0.1).add_(level).mul_(self.vignette)
        self.exposed.emit(tick, picture)
        if level < DIM:
            self.lamp = Lamp()
            self.exchanges += 1


class FlickerMeter:
    def __init__(self, title):
        self.title = title
        self.frames = 0
        self.closed = False
        self.light = torch.zeros(HEIGHT, WIDTH, device=device)
        self.square = torch.zeros(HEIGHT, WIDTH, device=device)

    def on_exposed(self, tick, picture):
        if self.closed:
            return
        self.frames += 1
        self.light += picture
        self.square.addcmul_(picture, picture)

    def verdict(self):
        self.closed = True
        mean = self.light / self.frames
        spread = (self.square / self.frames - mean.square()).clamp_min(0.0).sqrt()
        return float((spread / mean).mean())


class Screening:
    """One film on one projector, from the first frame to the last."""

    def __init__(self, projector, title, length):
        self.projector = projector
        self.left = length
        self.meter = FlickerMeter(title)
        projector.exposed.connect(self.meter.on_exposed)

    def frame(self, tick):
        self.projector.show(tick)
        self.left -= 1
        return self.left > 0

    def close(self):
        self.projector.exposed.disconnect(self.meter.on_exposed)
        return self.meter.title, self.meter.verdict()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    dice = random.Random(1895)
    halls = {name: Projector(name) for name in ("Gaumont", "Roxy")}
    titles = (f"reel {number}" for number in itertools.count(1))
    running = {name: Screening(halls[name], next(titles), 8 + 5 * order) for order, name in enumerate(halls)}
    for tick in itertools.count(1):
        if time.time() >= end:
            break
        for name, screening in list(running.items()):
            if not screening.frame(tick):
                title, flicker = screening.close()
                running[name] = Screening(halls[name], next(titles), dice.randint(12, 16))
                latest = f"{name}: {title} flicker {flicker:.4f}, lamps {halls[name].exchanges}"
        if tick % 30 == 0:
            print(f"frame {tick}, {latest}", flush=True)
        time.sleep(FRAME_TIME)


if __name__ == "__main__":
    main()
