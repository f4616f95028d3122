"""A mushroom farm watches the gills of its champignons on the shelves of several growing rooms. Small cameras
under the shelves deliver patches of the opening caps; a response map of the lens, which fogs and bends with the
air of the room, is laid over each patch before a little network rates how far the veil has opened. The rating
decides which shelf the pickers visit next.

ticket: practice
class: none
"""
import math
import os
import time

import torch
from torch import nn

PATCH = 160
ROOMS = 5
SHELVES = 6
PATCHES_PER_ROOM = 2
ROUNDS_PER_SECOND = 10


class RoomClimate:
    """Air of one growing room: temperature and humidity swing around their set points."""

    def __init__(self, room, generator):
        self.room = room
        self.generator = generator
        self.temperature = 17.5
        self.humidity = 88.0

    def step(self):
        draw = torch.rand(2, generator=self.generator)
        self.temperature = 16.0 + 3.0 * float(draw[0])
        self.humidity = 84.0 + 8.0 * float(draw[1])


class LensModel:
    """Response maps of the shelf cameras for the air they stand in."""

    def __init__(self, size):
        axis = torch.linspace(-1.0, 1.0, size)
        self.radius = torch.sqrt(axis[:, None] ** 2 + axis[None, :] ** 2)
        self._responses = {}
        self.lookups = 0

    def response(self, climate):
        self.lookups += 1
        key = (round(climate.temperature), round(climate.humidity / 2.0) * 2)
        if key not in self._responses:
            self._responses[key] = self._compute(*key)
        return self._responses[key]

    def _compute(self, temperature, humidity):
        fog = math.exp((humidity - 90.0) / 12.0)
        bend = 0.04 * (temperature - 17.5)
        falloff = 1.0 - 0.35 * fog * self.radius ** 2
        return torch.clamp(falloff + bend * self.radius ** 4, 0.2, 1.2)


class GillRater(nn.Module):
    """Rates the opening of the veil from a corrected patch, 0 closed to 1 flat."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, stride=4), nn.ReLU(),
            nn.Conv2d(6, 12, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
        )
        self.head = nn.Linear(12 * 16, 1)

    def forward(self, patches):
        return torch.sigmoid(self.head(self.features(patches).flatten(1))).squeeze(1)


class PickingPlan:
    """Openness of each shelf as a running mean."""

    def __init__(self):
        self.openness = torch.zeros(ROOMS, SHELVES)

    def update(self, room, shelf, rating):
        self.openness[room, shelf] += 0.2 * (rating - self.openness[room, shelf])

    def next_shelf(self):
        best = int(self.openness.argmax())
        return best // SHELVES, best % SHELVES


class GillWatch:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.climates = [RoomClimate(room, self.generator) for room in range(ROOMS)]
        self.gallery = torch.rand(320, PATCH, PATCH, generator=self.generator)
        self.lens = LensModel(PATCH)
        self.rater = GillRater().eval()
        self.plan = PickingPlan()
        self.rated = 0

    @torch.no_grad()
    def tour(self):
        for climate in self.climates:
            climate.step()
            response = self.lens.response(climate)
            picks = torch.randint(len(self.gallery), (PATCHES_PER_ROOM,), generator=self.generator)
            patches = self.gallery[picks] / response
            ratings = self.rater(patches.unsqueeze(1))
            for pick, rating in zip(picks.tolist(), ratings.tolist()):
                self.plan.update(climate.room, pick % SHELVES, rating)
            self.rated += PATCHES_PER_ROOM


def main():
    torch.set_num_threads(1)
    torch.manual_seed(44)
    seconds = float(os.environ.get("SECONDS", "120"))
    watch = GillWatch(seed=45)
    start = time.monotonic()
    next_report = start + 2.0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        watch.tour()
        if began >= next_report:
            room, shelf = watch.plan.next_shelf()
            print(f"{began - start:6.1f} s  patches {watch.rated}  next room {room} shelf {shelf}  "
                  f"mean opening {float(watch.plan.openness.mean()):.3f}", flush=True)
            next_report = began + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"tour over: {watch.rated} patches rated, {watch.lens.lookups} lens lookups", flush=True)


if __name__ == "__main__":
    main()
