"""Bidding floor of an online auction of ancient coins.

Bidders come to the floor, get enlarged photographs of the coin that is up, and bid until the hammer falls.
Some say goodbye by themselves, others are shown out once they have been silent for too long.

ticket: practice
class: host-growth
holder: _online
cause: sessions-kept
"""
import os
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
TICKS_PER_SECOND = 12
IDLE_LIMIT = 8
LOT_TICKS = 30
SIDE = 384


@dataclass
class Lot:
    number: int
    estimate: float
    price: float = 0.0
    leader: int = -1


class Photographs:
    """Obverse and reverse of the coins, rendered from a few master relief maps."""

    def __init__(self, rng, masters=48):
        self.relief = rng.random((masters, SIDE, SIDE), dtype=np.float32)

    def render(self, lot, tilt):
        relief = self.relief[lot.number % len(self.relief)]
        shade = np.roll(relief, tilt, axis=0) * 0.6 + relief * 0.4
        colour = np.array([212.0, 175.0, 96.0], dtype=np.float32)
        return (shade[..., None] * colour).astype(np.uint8)  # grows


class BidderSession:
    def __init__(self, paddle, limit, photo, patience):
        self.paddle = paddle
        self.limit = limit
        self.photo = photo
        self.patience = patience
        self.idle = 0
        self.bids = 0
        self.open = True

    def wants(self, price, rng):
        return self.open and price < self.limit and rng.random() < 0.25

    def close(self):
        self.open = False
        self.limit = 0.0


class Floor:
    """Who is in the room, and what happens to the lot that is up."""

    def __init__(self, rng):
        self.rng = rng
        self.photographs = Photographs(rng)
        self._online = set()
        self._next_paddle = 1
        self.lot = Lot(1, 400.0)
        self.sold = 0
        self.turnover = 0.0

    def enter(self):
        tilt = int(self.rng.integers(0, 64))
        photo = self.photographs.render(self.lot, tilt)
        limit = self.lot.estimate * float(self.rng.lognormal(0.1, 0.5))
        session = BidderSession(self._next_paddle, limit, photo, int(self.rng.integers(4, 16)))
        self._next_paddle += 1
        self._online.add(session)  # keeps

    def take_bids(self):
        for session in sorted(self._online, key=lambda one: one.paddle):
            if session.wants(self.lot.price, self.rng):
                self.lot.price = max(self.lot.price * 1.05, self.lot.estimate * 0.5)
                self.lot.leader = session.paddle
                session.bids += 1
                session.idle = 0
            elif session.open:
                session.idle += 1

    def leave(self, session):
        session.close()
        self._online.discard(session)

    def show_out(self, session):
        if self.lot.leader == session.paddle:
            self.lot.leader = -1
        session.close()

    def sweep(self):
        for session in [one for one in self._online if one.open]:
            session.patience -= 1
            if session.patience <= 0:
                self.leave(session)
            elif session.idle >= IDLE_LIMIT:
                self.show_out(session)

    def hammer(self):
        if self.lot.leader >= 0:
            self.sold += 1
            self.turnover += self.lot.price
        self.lot = Lot(self.lot.number + 1, float(self.rng.uniform(80.0, 2500.0)))


def main():
    rng = np.random.default_rng(37)
    floor = Floor(rng)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    tick = 0
    while time.monotonic() < end:
        began = time.monotonic()
        tick += 1
        for _ in range(3):
            floor.enter()
        floor.take_bids()
        floor.sweep()
        if tick % LOT_TICKS == 0:
            floor.hammer()
        if time.monotonic() >= report_at:
            print(f"lot {floor.lot.number}: price {floor.lot.price:.0f}, {floor.sold} coins sold", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / TICKS_PER_SECOND - (time.monotonic() - began)))
    print(f"floor closed: {floor.sold} coins sold for {floor.turnover:.0f}", flush=True)


if __name__ == "__main__":
    main()
