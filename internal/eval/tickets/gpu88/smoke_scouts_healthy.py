"""Follow the smoke that a fire brigade's scouting drones see over a dry hillside.

A drone that sees smoke opens a sighting with a film of thermal pictures. A network marks the hot spots on every
picture. Each sighting has a clerk, a thread that waits until the sighting is closed and then writes the burnt area
into the day book. The officer on duty looks over the open sightings: one that lies near an older one is the same
fire, and is joined to it; one that has been watched long enough is closed.

ticket: practice
class: none
"""
import math
import os
import random
import threading
import time
from collections import deque

import torch
from torch import nn

FILM = 12
SIDE = 256
NEAR = 0.3
OPEN_AT_ONCE = 4
SIGHTINGS_A_SECOND = 6.0


class HotSpots(nn.Module):
    """How hot each spot of a thermal picture is, cleaned of sun glare."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1),
        )

    def forward(self, pictures):
        return pictures[:, 0] + 0.1 * self.body(pictures)[:, 0].tanh()


class DayBook:
    """Areas of the fires of the day, written by the clerks."""

    def __init__(self):
        self.lock = threading.Lock()
        self.fires, self.joined, self.hectares = 0, 0, 0.0

    def write(self, hectares):
        with self.lock:
            self.fires += 1
            self.hectares += hectares

    def line(self):
        with self.lock:
            return f"{self.fires} fires, {self.hectares:.1f} ha burnt, {self.joined} sightings joined to others"


class Sighting:
    def __init__(self, number, place, film):
        self.number, self.place, self.film = number, place, film
        self.weight = 1
        self.joined = False
        self.closed = threading.Event()
        self.clerk = None

    def close(self):
        self.closed.set()
        self.clerk.join()

    def near(self, other):
        return math.dist(self.place, other.place) < NEAR


def clerk(sighting, book):
    sighting.closed.wait()
    if sighting.joined:
        return
    burnt = (sighting.film.amax(dim=0) > 0.8).float().mean().item()
    book.write(40.0 * burnt * sighting.weight)


class Hillside:
    """What the drones send: films of a hot front that creeps up the slope."""

    def __init__(self, device):
        self.device = device
        self.dice = random.Random(40)
        self.net = HotSpots().to(device).eval()
        axis = torch.linspace(0.0, 1.0, SIDE, device=device)
        self.down, self.along = axis[None, :, None], axis[None, None, :]
        self.hours = torch.linspace(0.0, 1.0, FILM, device=device).view(-1, 1, 1)

    def place(self):
        return self.dice.random(), self.dice.random()

    @torch.no_grad()
    def film(self, place):
        reach = 0.08 + 0.2 * self.hours
        far = ((self.along - place[0]) ** 2 + (self.down - place[1]) ** 2) / reach ** 2
        pictures = torch.exp(-far) + 0.05 * torch.randn(FILM, SIDE, SIDE, device=self.device)
        return self.net(pictures[:, None])


class Officer:
    def __init__(self, hillside, book):
        self.hillside = hillside
        self.book = book
        self.watched = deque()
        self.seen = 0

    def open(self):
        self.seen += 1
        place = self.hillside.place()
        sighting = Sighting(self.seen, place, self.hillside.film(place))
        name = f"clerk {self.seen}"
        sighting.clerk = threading.Thread(target=clerk, args=(sighting, self.book), name=name, daemon=True)
        sighting.clerk.start()
        return sighting

    def look_over(self, sighting):
        for older in self.watched:
            if older.near(sighting):
                self.join(older, sighting)
                return
        self.watched.append(sighting)
        if len(self.watched) > OPEN_AT_ONCE:
            self.watched.popleft().close()

    def join(self, older, sighting):
        older.weight += 1
        sighting.joined = True
        sighting.close()
        self.book.joined += 1

    def go_home(self):
        while self.watched:
            self.watched.popleft().close()


def main():
    stop = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(40)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    book = DayBook()
    officer = Officer(Hillside(device), book)

    due = time.time()
    while time.time() < stop:
        officer.look_over(officer.open())
        if officer.seen % 30 == 0:
            print(f"{officer.seen} sightings: {book.line()}", flush=True)
        due = max(due + 1.0 / SIGHTINGS_A_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))
    officer.go_home()
    print(f"drones down after {officer.seen} sightings: {book.line()}", flush=True)


if __name__ == "__main__":
    main()
