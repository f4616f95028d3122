"""Vat watch of a cheese dairy.

Every vat is looked at by a camera while its milk sets. The watch follows the firmness of the curd by the texture of
the surface and has the knives cut it when it is firm. Should a vat never get there, a timetable calls the cheesemaker,
with the first picture of the batch at hand.

ticket: practice
class: none
"""
import os
import sched
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

VATS = 5
PICTURE = 720
PATIENCE = 45 * 60.0         # of a vat that does not set
FIRM = 0.82
ROUNDS_PER_SECOND = 8


@dataclass
class Batch:
    """One filling of a vat."""

    number: int
    vat: int
    rennet: float
    firmness: float = 0.0
    looks: int = 0
    alarm: object = None


class Camera:
    """Pictures of the surface: smooth milk at first, then ever grainier curd."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        blur = torch.ones(1, 1, 5, 5, device=DEVICE)
        self.blur = blur / blur.sum()

    def picture(self, firmness):
        grain = torch.randn(1, 1, PICTURE, PICTURE, device=DEVICE, generator=self.generator)
        milk = F.conv2d(grain, self.blur, padding=2)
        return milk.lerp_(grain, firmness)


class TextureMeter:
    """Share of fine texture in a picture, between nought and one."""

    def __init__(self):
        kernel = torch.tensor([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]], device=DEVICE)
        self.kernel = kernel.view(1, 1, 3, 3)

    def __call__(self, picture):
        edges = F.conv2d(picture, self.kernel, padding=1)
        return float(edges.std() / (edges.std() + 2.0 * picture.std()))


class VatWatch:
    def __init__(self, seed=31):
        self.camera = Camera(seed)
        self.meter = TextureMeter()
        self.dice = torch.Generator().manual_seed(seed)
        self.timetable = sched.scheduler(time.monotonic, time.sleep)
        self.vats = {}
        self.filled = 0
        self.cut = 0
        self.calls = 0
        self.mean_texture = 0.0

    def fill(self, vat):
        """New milk in a vat, its first picture taken."""
        self.filled += 1
        rennet = 0.8 + 0.5 * torch.rand(1, generator=self.dice).item()
        batch = Batch(self.filled, vat, rennet)
        first = self.camera.picture(0.0)
        batch.alarm = self.timetable.enter(PATIENCE, 1, self.call_cheesemaker, argument=(vat, first))
        self.vats[vat] = batch

    def call_cheesemaker(self, vat, first):
        """A vat did not set: compare its surface with that at the filling."""
        self.calls += 1
        batch = self.vats.pop(vat)
        change = (self.camera.picture(batch.firmness) - first).abs().mean()
        print(f"vat {vat} needs a look, batch {batch.number}, change {float(change):.3f}", flush=True)

    def look(self, batch):
        batch.looks += 1
        batch.firmness = min(0.99, batch.firmness + 0.12 * batch.rennet)
        texture = self.meter(self.camera.picture(batch.firmness))
        self.mean_texture += 0.05 * (texture - self.mean_texture)

    def cut_curd(self, batch):
        """The curd is firm: knives through, whey off, vat free."""
        self.cut += 1
        self.timetable.cancel(batch.alarm)
        del self.vats[batch.vat]

    def turn(self):
        self.timetable.run(blocking=False)
        for vat in range(VATS):
            batch = self.vats.get(vat)
            if batch is None:
                self.fill(vat)
                continue
            self.look(batch)
            if batch.firmness >= FIRM:
                self.cut_curd(batch)


def main():
    watch = VatWatch()
    begin = time.monotonic()
    next_print = begin + 3.0
    while time.monotonic() - begin < SECONDS:
        started = time.monotonic()
        watch.turn()
        if started >= next_print:
            print(f"filled {watch.filled}  cut {watch.cut}  texture {watch.mean_texture:.3f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"shift over: {watch.filled} fillings, {watch.cut} cut, {watch.calls} calls", flush=True)


if __name__ == "__main__":
    main()
