"""Glide tests of a cross-country skiing wax truck.

On the morning of a race pairs of skis with different waxes glide past a row of gates, and the speed curves are
compared. Every test is written to the log of the truck. From time to time the head of service reads the new
entries aloud over the radio, with the figures of the runs that stood out.

ticket: practice
class: none
"""
import logging
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 8
WAXES = ("blue extra", "violet special", "green polar", "red silver", "klister universal", "powder cold")
RUNS = 96
GATES = 2048

log = logging.getLogger("truck")


class Curves:
    """The speed curves of one pair of skis, as an argument for the log."""

    def __init__(self, speeds):
        self.speeds = speeds

    def __str__(self):
        last = self.speeds[:, -1]
        return f"{last.mean().item():.2f} m/s (spread {last.std().item():.3f})"


class RadioHandler(logging.Handler):
    """Gathers entries of the log until they are read over the radio."""

    def __init__(self, level=logging.INFO):
        super().__init__(level)
        self._entries = []
        self.bulletins = 0

    def emit(self, record):
        self._entries.append(record)

    def read_out(self):
        fresh, self._entries = self._entries, []
        notable = [record for record in fresh if record.levelno >= logging.WARNING]
        self.bulletins += 1
        return len(fresh), [record.getMessage() for record in notable[-2:]]


class TestTrack:
    """The straight on which skis glide; friction depends on the wax and on the snow."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.friction = 0.028 + 0.004 * torch.rand(len(WAXES), generator=self.generator, device=DEVICE)
        self.wind = torch.randn(48, GATES, generator=self.generator, device=DEVICE) * 0.3
        self.video = torch.rand(24, 3, 360, 480, generator=self.generator, device=DEVICE)
        self.snow = -6.0

    def glide(self, wax, number):
        self.snow = min(-1.0, self.snow + 0.01)
        friction = self.friction[wax] * (1 + 0.03 * self.snow)
        push = 7.5 + 0.1 * torch.randn(RUNS, 1, generator=self.generator, device=DEVICE)
        metres = torch.linspace(0, 60, GATES, device=DEVICE)
        gusts = self.wind[number % len(self.wind)].cumsum(0) * 0.002
        energy = push.square() - 2 * 9.81 * friction * metres + gusts
        return energy.clamp(min=0.01).sqrt()

    def glare(self, number):
        return self.video[number % len(self.video)].mean().item()


class WaxTruck:
    def __init__(self, seed):
        self.track = TestTrack(seed)
        self.radio = RadioHandler()
        log.setLevel(logging.INFO)
        log.propagate = False
        log.addHandler(self.radio)
        self.rating = [0.0] * len(WAXES)

    def test(self, number):
        wax = number % len(WAXES)
        speeds = self.track.glide(wax, number)
        final = speeds[:, -1].mean().item()
        self.rating[wax] += 0.3 * (final - self.rating[wax])
        level = logging.WARNING if final >= max(self.rating) else logging.INFO
        log.log(level, "test %d, %s: %s, glare %.2f", number, WAXES[wax], Curves(speeds), self.track.glare(number))

    def best(self):
        return WAXES[max(range(len(WAXES)), key=self.rating.__getitem__)]


def main():
    truck = WaxTruck(seed=1952)
    started = time.monotonic()
    number = 0
    while time.monotonic() - started < SECONDS:
        truck.test(number)
        if number % 20 == 19:
            count, lines = truck.radio.read_out()
            print(f"bulletin {truck.radio.bulletins}: {count} tests, best so far {truck.best()}", flush=True)
            for line in lines:
                print(f"    {line}", flush=True)
        number += 1
        time.sleep(1 / ROUNDS_PER_SECOND)
    print(f"truck closed after {number} tests, race wax {truck.best()}", flush=True)


if __name__ == "__main__":
    main()
