"""Door cameras of a parcel locker station.

When a courier lays a parcel behind a door, the camera of the compartment takes a picture, and a small network makes
a feature map of it. At pickup a second picture is matched with the first, so that nobody carries off the parcel of
a neighbour. Parcels that nobody fetches in time go back to the depot with the next van.

ticket: practice
class: none
"""
import heapq
import os
import random
import time
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
DEPOSITS_PER_ROUND = 7
PICTURE = 64
NEVER_FETCHED = 0.3


@dataclass(order=True)
class Appointment:
    due: float
    number: int
    fetched: bool = field(compare=False)


class FeatureNet(nn.Module):
    """Feature maps of door pictures, made of a few random but fixed filters."""

    def __init__(self):
        super().__init__()
        self.edges = nn.Conv2d(3, 16, 5, stride=2, padding=2)
        self.parts = nn.Conv2d(16, 56, 3, padding=1)

    def forward(self, picture):
        return torch.tanh(self.parts(F.relu(self.edges(picture))))


class DoorCamera:
    """Pictures of parcels: a box of some colour before the dark back wall."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def picture(self, number):
        scene = torch.rand(1, 3, PICTURE, PICTURE, generator=self.generator) * 0.1
        left = 6 + number * 7 % 20
        top = 8 + number * 5 % 18
        colour = torch.tensor([number % 3, number % 5, number % 7]) / 6.0
        scene[0, :, top:top + 30, left:left + 32] += colour[:, None, None]
        return scene


class Station:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.chooser = random.Random(seed)
        self.camera = DoorCamera(seed + 1)
        self.network = FeatureNet().eval()
        self.doors = set()
        self._appearance = {}
        self._diary = []
        self.numbers = 0
        self.handed_out = 0
        self.sent_back = 0
        self.doubtful = 0

    @torch.no_grad()
    def deposit(self, now):
        self.numbers += 1
        number = self.numbers
        self.doors.add(number)
        self._appearance[number] = self.network(self.camera.picture(number))
        fetched = self.chooser.random() > NEVER_FETCHED
        stay = self.chooser.uniform(0.3, 1.2) if fetched else 1.5
        heapq.heappush(self._diary, Appointment(now + stay, number, fetched))

    @torch.no_grad()
    def hand_out(self, number):
        before = self._appearance.pop(number)
        after = self.network(self.camera.picture(number))
        likeness = F.cosine_similarity(before.flatten(), after.flatten(), dim=0).item()
        if likeness < 0.9:
            self.doubtful += 1
        self.doors.remove(number)
        self.handed_out += 1

    def send_back(self, number):
        self._appearance.pop(number)
        self.doors.remove(number)
        self.sent_back += 1

    def keep_appointments(self, now):
        while self._diary and self._diary[0].due <= now:
            appointment = heapq.heappop(self._diary)
            if appointment.fetched:
                self.hand_out(appointment.number)
            else:
                self.send_back(appointment.number)

    def work(self, now):
        for _ in range(DEPOSITS_PER_ROUND):
            self.deposit(now)
        self.keep_appointments(now)


def main():
    station = Station(seed=66)
    started = time.monotonic()
    report_due = started + 2.0
    while time.monotonic() - started < SECONDS:
        round_start = time.monotonic()
        station.work(round_start)
        if time.monotonic() >= report_due:
            print(f"behind doors {len(station.doors)}, handed out {station.handed_out}, sent back {station.sent_back},"
                  f" doubtful {station.doubtful}", flush=True)
            report_due += 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - round_start)))
    print(f"station closed: {station.numbers} parcels, {station.sent_back} went back to the depot", flush=True)


if __name__ == "__main__":
    main()
