"""Live forecast of how full the rooms of a museum will be.

Door counters and floor sensors report once a minute for 120 rooms.  A small network reads the
last hour of every room and says how many visitors will stand there in each of the next fifteen
minutes, so that the wardens can open a second staircase in time.  The network is nudged on the
newest counts every fifth minute; in between it only forecasts, and a smoothed error is shown on
the wardens' desk, which also lowers the learning rate on quiet days.

ticket: practice
class: none
"""
import math
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROOMS = 120
HOUR = 60
READINGS = 16
HORIZON = 15
WIDTH = 128


class RoomForecaster(nn.Module):
    """Reads an hour of readings a room, weighs the minutes and forecasts the next quarter."""

    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(READINGS, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.weigh = nn.Linear(WIDTH, 1)
        self.head = nn.Linear(WIDTH, HORIZON)

    def forward(self, hour):
        tokens = F.gelu(self.lift(hour))
        tokens = F.gelu(self.mix(tokens))
        weight = torch.softmax(self.weigh(tokens), dim=1)
        return self.head((tokens * weight).sum(dim=1))


class Counters:
    """Stands in for the museum's sensors: opening hours, school classes and plain chance."""

    def __init__(self, seed):
        self.dice = torch.Generator().manual_seed(seed)
        self.level = torch.rand(ROOMS, generator=self.dice)
        self.hour = torch.zeros(ROOMS, HOUR, READINGS)
        for minute in range(HOUR):
            self.hour[:, minute] = self.reading(minute)

    def reading(self, minute):
        day = 0.5 + 0.5 * math.sin(minute / 480 * math.pi)
        arrivals = torch.rand(ROOMS, generator=self.dice) * day
        self.level = 0.9 * self.level + 0.1 * arrivals + 0.02 * self.level.roll(1)
        noise = 0.05 * torch.randn(ROOMS, READINGS, generator=self.dice)
        return self.level[:, None] + noise

    def next_minute(self, minute):
        self.hour = self.hour.roll(-1, dims=1)
        self.hour[:, -1] = self.reading(minute)
        trend = self.level[:, None] * torch.linspace(1.0, 0.9, HORIZON)
        return self.hour.to(DEVICE), trend.to(DEVICE)


class WardenDesk:
    """Forecasts each minute, learns each fifth minute, and watches how far the two drift apart."""

    def __init__(self, model, every=5):
        self.model = model
        self.every = every
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.drift = torch.zeros((), device=DEVICE)
        self.fullest = []

    def minute(self, clock, hour, truth):
        forecast = self.model(hour)
        error = F.smooth_l1_loss(forecast, truth)
        self.drift = 0.96 * self.drift + 0.04 * error.detach()
        if clock % self.every == 0:
            self.optimizer.zero_grad(set_to_none=True)
            error.backward()
            self.optimizer.step()
            self.set_pace()
        self.fullest = forecast.detach().max(dim=1).values.topk(3).indices.tolist()

    def set_pace(self):
        quiet = self.drift.item() < 0.01
        for group in self.optimizer.param_groups:
            group["lr"] = 3e-4 if quiet else 1e-3


def main():
    ends = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(3)
    desk = WardenDesk(RoomForecaster().to(DEVICE))
    counters = Counters(seed=11)
    clock = 0
    while time.time() < ends:
        hour, truth = counters.next_minute(clock)
        desk.minute(clock, hour, truth)
        if clock % 20 == 0:
            rooms = ", ".join(str(room) for room in desk.fullest)
            print(f"minute {clock:5d}  error {desk.drift.item():.4f}  fullest rooms {rooms}", flush=True)
        clock += 1
        time.sleep(0.3)
    print(f"closing time after {clock} minutes", flush=True)


if __name__ == "__main__":
    main()
