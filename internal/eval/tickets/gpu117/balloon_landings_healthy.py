"""Control room of a hot air balloon rally.

Balloons take off all morning. The control room follows each of them on a cloud of possible
landing places that spreads with the wind, until the crew reports how the flight came to its end:
in the target field, beside it, or on the road where the retrieve car waited. The board of flights
is tidied from time to time.

ticket: practice
class: none
"""
import enum
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
TIDY_EVERY = 10.0
PLACES = 98304
ROUNDS_ALOFT = 8

torch.set_num_threads(1)


class Phase(enum.Enum):
    CLIMBING = "climbing"
    DRIFTING = "drifting"
    ON_TARGET = "on target"
    OFF_TARGET = "off target"
    RETRIEVED = "retrieved"


ALOFT = frozenset({Phase.CLIMBING, Phase.DRIFTING})
DOWN = frozenset({Phase.ON_TARGET, Phase.OFF_TARGET, Phase.RETRIEVED})
ENDINGS = (Phase.ON_TARGET, Phase.RETRIEVED, Phase.OFF_TARGET)


class Flight:
    def __init__(self, number, places):
        self.number = number
        self.places = places
        self.phase = Phase.CLIMBING
        self.age = 0

    def drift(self, wind, scatter):
        self.places.add_(wind.unsqueeze(0)).add_(scatter, alpha=0.05)
        self.age += 1
        if self.age == ROUNDS_ALOFT // 2:
            self.phase = Phase.DRIFTING
        elif self.age == ROUNDS_ALOFT:
            self.phase = ENDINGS[self.number % len(ENDINGS)]

    def distance(self):
        return float(self.places.mean(dim=0).norm())


class Sky:
    """Wind of the morning and the scatter that it gives to a flight."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.wind = torch.tensor([0.4, 0.2], device=DEVICE)
        self.scatters = torch.randn(40, PLACES, 2, generator=self.generator, device=DEVICE)

    def step(self):
        gust = torch.randn(2, generator=self.generator, device=DEVICE)
        self.wind.mul_(0.98).add_(gust, alpha=0.02)

    def scatter(self, number):
        return self.scatters[number % len(self.scatters)]


class FlightBoard:
    """All the flights that the control room follows, by their number."""

    def __init__(self, sky):
        self.sky = sky
        self._flights = {}
        self.launched = 0
        self.removed = 0
        self.mean_distance = 0.0

    def launch(self):
        number = self.launched
        places = torch.zeros(PLACES, 2, device=DEVICE)
        self._flights[number] = Flight(number, places)
        self.launched += 1

    def follow(self):
        for flight in self._flights.values():
            if flight.phase not in ALOFT:
                continue
            flight.drift(self.sky.wind, self.sky.scatter(flight.number))
            if flight.phase not in ALOFT:
                self.mean_distance = 0.9 * self.mean_distance + 0.1 * flight.distance()

    def tidy(self):
        done = [number for number, flight in self._flights.items() if flight.phase in DOWN]
        for number in done:
            del self._flights[number]
        self.removed += len(done)


def main():
    sky = Sky(seed=91)
    board = FlightBoard(sky)
    start = time.monotonic()
    next_tidy = TIDY_EVERY
    last_line = start
    index = 0
    while time.monotonic() - start < SECONDS:
        sky.step()
        board.launch()
        board.follow()
        if time.monotonic() - start >= next_tidy:
            next_tidy += TIDY_EVERY
            board.tidy()
        index += 1
        now = time.monotonic()
        if now - last_line >= 3.0:
            last_line = now
            print(f"{now - start:6.1f} s  launched {board.launched}  off the board {board.removed}"
                  f"  mean distance {board.mean_distance:.2f} km", flush=True)
        time.sleep(max(0.0, start + index / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"rally over, {board.launched} balloons launched, mean distance {board.mean_distance:.2f} km", flush=True)


if __name__ == "__main__":
    main()
