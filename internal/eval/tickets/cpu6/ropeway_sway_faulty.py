"""Sway forecast for the cabins of a ski lift between two towers.

The anemometer and the load cells of the lift deliver samples. For each span the cable is described by its modes, which
depend on the load and on the tension; the gust excites the modes, and the largest swing of a cabin decides on the
speed of the lift. Neighbouring questions on the same span share the modes.

ticket: practice
class: host-growth
holder: cable_modes
cause: cache-without-bound
"""
import functools
import math
import os
import random
import time
from collections import namedtuple
from dataclasses import dataclass

import torch

NODES = 768
MODES = 128
GRAVITY = 9.81
PERIOD = 0.25

Gust = namedtuple("Gust", "at speed direction")


@dataclass(frozen=True)
class Span:
    """Cable between two towers, as loaded at a moment."""
    name: str
    length: float
    tension: float
    load: float

    @property
    def wave_speed(self):
        return math.sqrt(self.tension / (self.load / GRAVITY))


@functools.lru_cache(maxsize=None)
def cable_modes(span):
    """Shapes of the modes over the nodes of the span, damped towards the towers."""
    x = torch.linspace(0.0, 1.0, NODES)
    order = torch.arange(1, MODES + 1, dtype=torch.float32).unsqueeze(1)
    sag = span.load * span.length ** 2 / (8 * span.tension)
    bend = x + 0.01 * sag / span.length * torch.sin(2 * math.pi * x)
    shapes = order * bend  # grows
    shapes.mul_(math.pi).sin_()
    return shapes.div_(shapes.norm(dim=1, keepdim=True))  # keeps


def frequencies(span):
    order = torch.arange(1, MODES + 1, dtype=torch.float32)
    return order * span.wave_speed / (2 * span.length)


def response(span, gust):
    """Swing along the span in metres for a gust at a place of the span."""
    shapes = cable_modes(span)  # grows keeps
    x = torch.linspace(0.0, 1.0, NODES)
    push = 0.012 * torch.exp(-((x - gust.at) / 0.1) ** 2) * gust.speed ** 2 * math.sin(gust.direction)
    omega = 2 * math.pi * frequencies(span)
    return (shapes @ push / (0.4 + omega ** 2)) @ shapes


def cabins_at_risk(span, gust, spacing):
    places = torch.arange(0.0, span.length, spacing) / span.length * (NODES - 1)
    calm = response(span, gust._replace(speed=0.5 * gust.speed))
    swing = response(span, gust)[places.long()].abs()
    return int((swing > 0.35).sum()), float(swing.max() - calm.abs().max())


def telemetry(rng, end):
    """Samples of the lift until the end: a wind that wanders, and the loads of the two spans."""
    wind, heading = 9.0, 1.2
    seats = {"lower": 0.6, "upper": 0.4}
    while time.time() < end:
        wind = max(2.0, wind + rng.gauss(0, 0.7) + 0.05 * (9.0 - wind))
        heading += rng.gauss(0, 0.05)
        for name in seats:
            seats[name] = min(1.0, max(0.0, seats[name] + rng.gauss(0, 0.03)))
        spans = [Span("lower", 640.0, 210e3, 70 + 90 * seats["lower"]),
                 Span("upper", 820.0, 235e3, 70 + 90 * seats["upper"])]
        for span in spans:
            yield span, Gust(rng.random(), wind, heading)
        time.sleep(PERIOD / 2)


def speed_for(at_risk, now):
    """Metres a second of the rope: down at once, up by small steps."""
    target = 5.0 if at_risk == 0 else max(1.0, 5.0 - 0.5 * at_risk)
    return target if target < now else min(target, now + 0.05)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    rope, told, worst = 5.0, time.time(), 0.0
    for number, (span, gust) in enumerate(telemetry(random.Random(88), end), 1):
        at_risk, excess = cabins_at_risk(span, gust, spacing=40.0)
        rope = speed_for(at_risk, rope)
        worst = max(worst, excess)
        if time.time() - told > 3:
            told = time.time()
            print(f"sample {number}: wind {gust.speed:.1f}, rope {rope:.2f} m/s, at risk {at_risk} on {span.name}, "
                  f"worst excess {worst:.2f} m", flush=True)


if __name__ == "__main__":
    main()
