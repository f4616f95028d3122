"""Ground station that follows weather balloons from the messages of their sondes.

Every flight gets a cloud of candidate positions that drifts with the wind field and is weighed by each fix received.
Messages reach the station in bursts, when a satellite passes overhead, with quiet minutes between two passes.
A sonde may change its frequency during the flight; the station follows it there.

ticket: practice
class: app-leak
holder: flights
cause: sessions-kept entries-left
"""
import os
import random
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CANDIDATES = 90_000
ROUNDS_PER_SECOND = 12
FREQUENCIES = [401.5 + 0.1 * step for step in range(40)]


class Flight:
    """The track of one balloon: candidates with position and velocity."""

    def __init__(self, serial, frequency, site):
        self.serial = serial
        self.frequency = frequency
        self.fixes = 0
        self.candidates = torch.randn(CANDIDATES, 6, device=DEVICE)  # grows
        self.candidates[:, :3].add_(torch.tensor(site, device=DEVICE))

    def drift(self, winds, seconds):
        layer = winds[min(self.fixes * 5, winds.shape[0] - 1)]
        self.candidates[:, 3].mul_(0.9).add_(layer[0, 0], alpha=0.1)
        self.candidates[:, 4].mul_(0.9).add_(layer[0, 1], alpha=0.1)
        self.candidates[:, :3].add_(self.candidates[:, 3:], alpha=seconds)

    def weigh(self, fix):
        self.fixes += 1
        position = torch.tensor(fix, device=DEVICE)
        distance = (self.candidates[:, :3] - position).square().sum(dim=1)
        weights = torch.softmax(-distance / 50.0, dim=0)
        return (weights[:, None] * self.candidates[:, :3]).sum(dim=0).tolist()


class Station:
    """Receives messages and keeps the flights that are in the air."""

    def __init__(self):
        self.winds = torch.randn(40, 512, 512, device=DEVICE)
        self.flights = {}
        self.landed = 0

    def launch(self, serial, frequency, site):
        flight = Flight(serial, frequency, site)
        self.flights[serial, frequency] = flight  # keeps
        return flight

    def receive(self, serial, frequency, fix):
        flight = self.flights.get((serial, frequency))
        if flight is None:
            flight = self.launch(serial, frequency, fix)
        flight.drift(self.winds, 1.0)
        return flight.weigh(fix)

    def retune(self, serial, frequency, new_frequency):
        flight = self.flights[serial, frequency]
        flight.frequency = new_frequency
        self.flights[serial, new_frequency] = flight

    def land(self, serial, frequency):
        flight = self.flights.pop((serial, frequency))
        self.landed += 1
        return flight.fixes


class Balloon:
    """What happens up there: a balloon that sends some messages and comes down."""

    def __init__(self, serial, rng):
        self.serial = serial
        self.rng = rng
        self.frequency, self.second = rng.sample(FREQUENCIES, 2)
        self.remaining = rng.randint(4, 7)
        self.retunes_at = rng.choice([0, 3])
        self.position = [rng.uniform(-5, 5) for _ in range(3)]

    def send(self, station):
        self.position = [axis + self.rng.gauss(0.3, 0.2) for axis in self.position]
        station.receive(self.serial, self.frequency, self.position)
        self.remaining -= 1
        if self.remaining == self.retunes_at and self.remaining:
            station.retune(self.serial, self.frequency, self.second)
            self.frequency = self.second
        if not self.remaining:
            station.land(self.serial, self.frequency)


def satellite_pass(station, first_serial, rng, deadline):
    """One burst of messages."""
    aloft = [Balloon(first_serial + n, rng) for n in range(rng.randint(14, 26))]
    count = len(aloft)
    while aloft and (now := time.monotonic()) < deadline:
        for balloon in rng.sample(aloft, min(4, len(aloft))):
            balloon.send(station)
            if not balloon.remaining:
                aloft.remove(balloon)
        time.sleep(max(0.02, 1 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    return count


def main():
    torch.manual_seed(11)
    rng = random.Random(11)
    station = Station()
    deadline = time.monotonic() + SECONDS
    serial = 1000
    while time.monotonic() < deadline:
        serial += satellite_pass(station, serial, rng, deadline)
        print(f"pass over: {station.landed} balloons down so far", flush=True)
        quiet_until = min(deadline, time.monotonic() + rng.uniform(2, 6))
        while time.monotonic() < quiet_until:
            station.winds[rng.randrange(40)].mul_(0.99)
            time.sleep(0.2)
    print(f"station closed after {station.landed} flights", flush=True)


if __name__ == "__main__":
    main()
