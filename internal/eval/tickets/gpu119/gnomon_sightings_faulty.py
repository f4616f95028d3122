"""Tuning the gnomon of a garden sundial against sightings of its shadow.

A camera above the dial takes a picture of the plate several times a second while a lamp on a rail plays the sun. Each
picture is compared with the shadow that the current gnomon should throw, and inclination and height are corrected by
a few steps of gradient descent. The report gives the misfit of the last pictures and of the whole session.

ticket: practice
class: app-leak
holder: misfits
cause: results-kept
"""
import math
import os
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PICTURES_PER_SECOND = 8
ROWS, COLUMNS = 448, 512
REPORT_EVERY = 24
PENUMBRA = 0.035


class Plate:
    """The dial plate: coordinates of its points and the grain of its stone."""

    def __init__(self):
        y = torch.linspace(-1.0, 1.0, ROWS, device=DEVICE)
        x = torch.linspace(-1.2, 1.2, COLUMNS, device=DEVICE)
        self.y, self.x = torch.meshgrid(y, x, indexing="ij")
        self.grain = 0.04 * torch.randn(24, ROWS, COLUMNS, device=DEVICE)

    def grain_at(self, number):
        return self.grain[number % len(self.grain)]


class Gnomon:
    """Inclination and height of the style, with the shadow that it throws."""

    def __init__(self, inclination, height):
        self.shape = torch.tensor([inclination, height], device=DEVICE)

    def shadow(self, plate, hour_angle, shape=None):
        inclination, height = self.shape if shape is None else shape
        bearing = torch.atan2(torch.sin(inclination) * math.sin(hour_angle),
                              torch.tensor(math.cos(hour_angle), device=DEVICE))
        along = plate.x * torch.sin(bearing) + plate.y * torch.cos(bearing)
        across = plate.x * torch.cos(bearing) - plate.y * torch.sin(bearing)
        edge = torch.sigmoid((0.06 - across.abs()) / PENUMBRA)
        tip = torch.sigmoid((height - along) / PENUMBRA) * torch.sigmoid(along / PENUMBRA)
        return edge * tip


class Camera:
    """Takes pictures of the plate under the true gnomon, with the grain of the stone in them."""

    def __init__(self, plate):
        self.plate = plate
        self.truth = Gnomon(0.82, 0.74)

    def picture(self, number, hour_angle):
        return self.truth.shadow(self.plate, hour_angle) + self.plate.grain_at(number)


class SightingSession:
    """One session of sightings: compares pictures, corrects the gnomon, reports."""

    def __init__(self, plate, gnomon):
        self.plate = plate
        self.gnomon = gnomon
        self.misfits = []
        self.corrections = 0

    def sight(self, picture, hour_angle):
        expected = self.gnomon.shadow(self.plate, hour_angle)
        misfit = (picture - expected).abs()  # grows
        self.misfits.append(misfit)  # keeps
        self.correct(picture, hour_angle)

    def correct(self, picture, hour_angle):
        shape = self.gnomon.shape.clone().requires_grad_(True)
        loss = (self.gnomon.shadow(self.plate, hour_angle, shape) - picture).square().mean()
        slope, = torch.autograd.grad(loss, shape)
        self.gnomon.shape = self.gnomon.shape - 0.4 * slope
        self.corrections += 1

    def mean_misfit(self, count=None):
        chosen = self.misfits if count is None else self.misfits[-count:]
        return sum(float(misfit.mean()) for misfit in chosen) / max(1, len(chosen))


def hour_angle_of(number):
    """The lamp goes to and fro along its rail, one sweep in twelve seconds."""
    sweep = (number % 96) / 96.0
    return 1.1 * math.sin(2.0 * math.pi * sweep)


def main():
    torch.manual_seed(41)
    plate = Plate()
    camera = Camera(plate)
    session = SightingSession(plate, Gnomon(0.95, 0.55))
    start = time.monotonic()
    number = 0
    while time.monotonic() - start < SECONDS:
        hour_angle = hour_angle_of(number)
        session.sight(camera.picture(number, hour_angle), hour_angle)
        number += 1
        if number % REPORT_EVERY == 0:
            inclination, height = session.gnomon.shape.tolist()
            print(f"picture {number}: inclination {inclination:.3f}, height {height:.3f}, "
                  f"misfit {session.mean_misfit(REPORT_EVERY):.4f}", flush=True)
        time.sleep(max(0.0, start + number / PICTURES_PER_SECOND - time.monotonic()))
    print(f"{session.corrections} corrections, mean misfit {session.mean_misfit():.4f}", flush=True)


if __name__ == "__main__":
    main()
