"""Recipe desk of a pottery that casts from liquid clay.

The mixing tanks report clay, water and deflocculant of each batch. For a batch the flow curve of the slip is worked
out point by point; the pour time, the wall of the cast and the advice for the caster are all read from that curve.

ticket: practice
class: none
"""
import collections
import functools
import itertools
import math
import os
import random
import time

CLAYS = {"porcelain": (0.62, 1.9), "stoneware": (0.58, 2.4), "earthenware": (0.55, 2.9), "bone": (0.60, 1.6)}
POINTS = 2100
BATCHES_AT_HAND = 40
STEPS_A_SECOND = 20


class Remembered:
    """Decorator: a function is worked out once for the same arguments."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self.answers = collections.OrderedDict()
        self.asked = 0
        self.worked_out = 0

    def __call__(self, *key):
        self.asked += 1
        if key not in self.answers:
            self.worked_out += 1
            self.answers[key] = self.function(*key)
            if len(self.answers) > BATCHES_AT_HAND:
                self.answers.popitem(last=False)
        return self.answers[key]


@Remembered
def flow_curve(clay, water, salt):
    """Tuples of shear rate, stress and viscosity."""
    solid, thickness = CLAYS[clay]
    load = solid * (1.0 - water)
    yield_stress = 40.0 * load * math.exp(-9.0 * salt)
    curve = []
    for point in range(1, POINTS + 1):
        rate = 0.05 * point
        stress = yield_stress + thickness * load * rate ** 0.72
        curve.append((rate, stress, stress / rate))
    return tuple(curve)


def viscosity_at(batch, rate):
    curve = flow_curve(*batch)
    place = min(POINTS - 1, max(0, int(rate / 0.05) - 1))
    return curve[place][2]


def pour_time(batch, litres):
    """Seconds in which a mould of that size is filled."""
    return litres * (0.8 + 0.35 * viscosity_at(batch, 12.0))


def wall_thickness(batch, minutes):
    """Millimetres of the cast after the slip has stood in the plaster."""
    curve = flow_curve(*batch)
    settled = sum(stress for _, stress, _ in curve[:40]) / 40
    return 0.9 * math.sqrt(minutes) * (1.0 + 0.01 * settled)


def advice(batch):
    thin, thick = viscosity_at(batch, 60.0), viscosity_at(batch, 2.0)
    ratio = thick / thin
    if ratio > 9.0:
        return "more salt"
    return "more clay" if ratio < 4.0 else "cast"


def tank_reports(rng):
    """Batches as the scales and the moisture probe of the tanks report them."""
    clays = itertools.cycle(CLAYS)
    moisture = 0.34
    for clay in clays:
        moisture += 0.1 * (0.34 - moisture) + rng.gauss(0.0, 0.01)
        salt = 0.12 + 0.05 * rng.random()
        yield clay, moisture, salt


class Desk:
    def __init__(self):
        self.orders = dict.fromkeys(("more salt", "more clay", "cast"), 0)
        self.seconds = 0.0
        self.wall = 0.0

    def handle(self, batch):
        self.orders[advice(batch)] += 1
        self.seconds += pour_time(batch, litres=2.5)
        self.wall = 0.9 * self.wall + 0.1 * wall_thickness(batch, minutes=12)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    desk = Desk()
    spoken = time.time()
    for number, batch in enumerate(tank_reports(random.Random(5)), start=1):
        if time.time() >= end:
            break
        desk.handle(batch)
        if time.time() - spoken > 3.0:
            spoken = time.time()
            print(f"batch {number}: {desk.orders}, wall {desk.wall:.2f} mm, "
                  f"curves {flow_curve.worked_out} of {flow_curve.asked}", flush=True)
        time.sleep(1.0 / STEPS_A_SECOND)
    print(f"desk closed, {desk.seconds / 60:.0f} minutes of pouring", flush=True)


if __name__ == "__main__":
    main()
