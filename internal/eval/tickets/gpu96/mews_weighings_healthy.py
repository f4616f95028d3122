"""In a mews, the house where trained hawks live, every bird is weighed before it flies: a gram too much and
it will not come back to the glove. A camera above the scale gives a picture of the bird on its perch, and a
worker reads from it how full the crop is, while the keeper already lifts the next bird. The flying order of
the day follows from the weights and the crops.

ticket: practice
class: none
"""
import os
import random
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
WEIGHINGS_PER_SECOND = 8
PICTURE = 320
CROP_LIMIT = 0.6


@dataclass
class Hawk:
    name: str
    flying_weight: float
    weight: float
    crop: float = 0.0

    def keen(self):
        return self.weight <= self.flying_weight * 1.02 and self.crop < CROP_LIMIT


@dataclass
class CropReading:
    hawk: Hawk
    heat: torch.Tensor
    fullness: float


class CropReader:
    """Finds the crop of a bird in the picture and says how full it is."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.filters = nn.Conv2d(1, 4, kernel_size=5, padding=2).to(DEVICE)
        self.plumages = torch.rand(160, PICTURE, PICTURE, device=DEVICE)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)

    @torch.no_grad()
    def read(self, hawk, plumage):
        noise = torch.rand(PICTURE, PICTURE, generator=self.generator, device=DEVICE)
        picture = self.plumages[plumage].lerp(noise, 0.3)
        heat = torch.sigmoid(self.filters(picture[None, None]))
        return CropReading(hawk, heat, heat.mean().item())


class WeighingRoom:
    """The keeper's scale and the worker that reads the pictures."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.reader = CropReader(seed)
        self.pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="crop")
        self.hawks = [Hawk(name, grams, grams) for name, grams in
                      (("Ember", 690.0), ("Gale", 905.0), ("Juniper", 640.0), ("Rook", 1010.0), ("Thistle", 215.0))]
        self.order = deque(maxlen=40)
        self.read = 0
        self._readings = []

    def weigh(self, number):
        hawk = self.hawks[number % len(self.hawks)]
        hawk.weight = hawk.flying_weight * self.random.uniform(0.97, 1.05)
        reading = self.pool.submit(self.reader.read, hawk, self.random.randrange(160))
        reading.add_done_callback(self._note)
        self._readings.append(reading)

    def _note(self, reading):
        if reading.cancelled() or reading.exception() is not None:
            return
        found = reading.result()
        found.hawk.crop = found.fullness
        self.read += 1
        if found.hawk.keen():
            self.order.append(found.hawk.name)

    def waiting(self):
        self._readings = [reading for reading in self._readings if not reading.done()]
        return sum(1 for reading in self._readings if not reading.done())

    def close(self):
        for reading in self._readings:
            reading.cancel()
        self.pool.shutdown(wait=True)


def main():
    room = WeighingRoom(67)
    started = spoken = time.monotonic()
    number = 0
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        if room.waiting() < 4:
            room.weigh(number)
            number += 1
        if begun - spoken >= 2.5:
            spoken = begun
            crops = "  ".join(f"{hawk.name} {hawk.weight:.0f} g" for hawk in room.hawks)
            next_bird = room.order[-1] if room.order else "none"
            print(f"{begun - started:5.1f} s  {room.read:4d} read  {crops}  next to fly: {next_bird}", flush=True)
        time.sleep(max(0.005, 1.0 / WEIGHINGS_PER_SECOND - (time.monotonic() - begun)))
    room.close()
    print(f"the birds are fed: {number} weighings, {room.read} crops read", flush=True)


if __name__ == "__main__":
    main()
