"""The cogwheels of a rack railway wear where their teeth meet the rack, most of all on the steep stretches.

A network learns the wear of a trip from the gauges along the line: slope, load, speed, grease and weather. A trip
on which a gauge was iced over is looked at like any other, but the network does not learn from it. Training goes
in epochs, and after each epoch the network is judged on the trips of the season before.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
GAUGES = 32
TRIP = 320
TRIPS = 90
STEPS_A_SECOND = 8
EPOCH_SECONDS = 8.0
JUDGING_SECONDS = 1.0


class Season:
    """The gauge readings of all trips of a season, and the wear measured in the depot."""

    def __init__(self, seed):
        source = torch.Generator().manual_seed(seed)
        readings = torch.randn(TRIPS * TRIP, GAUGES, generator=source)
        slope, load, grease = readings[:, 0], readings[:, 1], readings[:, 2]
        wear = 0.4 * torch.relu(slope + 0.5 * load) * torch.exp(-0.3 * grease)
        wear = wear + 0.02 * torch.randn(len(wear), generator=source)
        self.readings = readings.to(DEVICE)
        self.wear = wear[:, None].to(DEVICE)
        self.iced = (torch.rand(TRIPS, generator=source) < 0.25).tolist()

    def trip(self, number):
        span = slice(number * TRIP, (number + 1) * TRIP)
        return self.readings[span], self.wear[span]


def make_network():
    return nn.Sequential(
        nn.Linear(GAUGES, 256),
        nn.Tanh(),
        nn.Linear(256, 128),
        nn.Tanh(),
        nn.Linear(128, 1),
    ).to(DEVICE)


class WearTrainer:
    def __init__(self, season):
        self.season = season
        self.network = make_network()
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.05, momentum=0.9)
        self.smoothed = torch.ones((), device=DEVICE)
        self.learned = 0
        self.iced = 0
        self._next_trip = 0

    def step(self):
        number = self._next_trip
        self._next_trip = (number + 1) % TRIPS
        readings, wear = self.season.trip(number)
        estimate = self.network(readings)
        loss = nn.functional.smooth_l1_loss(estimate, wear)
        if self.season.iced[number]:
            self.iced += 1
        else:
            self.learn(loss)
        self.smoothed = 0.97 * self.smoothed + 0.03 * loss.detach()

    def learn(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.learned += 1

    def epoch(self, until):
        while time.monotonic() < until:
            begun = time.monotonic()
            self.step()
            time.sleep(max(0.005, 1.0 / STEPS_A_SECOND - (time.monotonic() - begun)))
        return float(self.smoothed)


@torch.no_grad()
def judge(network, season, until):
    """The mean error over the trips of a season, as many as there is time for."""
    network.eval()
    errors = []
    for number in range(TRIPS):
        if time.monotonic() >= until:
            break
        readings, wear = season.trip(number)
        errors.append(float((network(readings) - wear).abs().mean()))
        time.sleep(0.05)
    network.train()
    return sum(errors) / max(1, len(errors))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    trainer = WearTrainer(Season(seed=31))
    last_season = Season(seed=30)
    end = time.monotonic() + SECONDS
    epoch = 0
    while time.monotonic() < end:
        epoch += 1
        loss = trainer.epoch(min(end, time.monotonic() + EPOCH_SECONDS))
        error = judge(trainer.network, last_season, min(end + 0.2, time.monotonic() + JUDGING_SECONDS))
        print(
            f"epoch {epoch}: loss {loss:.5f}, error last season {error:.4f}, "
            f"learned from {trainer.learned} trips, iced {trainer.iced}",
            flush=True,
        )
    print(f"depot report after {epoch} epochs: smoothed loss {float(trainer.smoothed):.5f}", flush=True)


if __name__ == "__main__":
    main()
