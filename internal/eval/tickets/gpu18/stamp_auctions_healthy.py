"""Stamps are auctioned. Of each lot there is a scan, from which a network guesses what it may fetch; while the lot is
open, it listens for bids, and when one comes to near the guess, the scan is looked at once more, closely. Lots come and
go, some dozens of bids and the hammer falls, and the lot listens no more.

ticket: practice
class: none
"""

import collections
import os
import random
import time

import numpy as np
import torch
from torch import nn

HIGH, WIDE = 720, 960


class Bus:
    """Who wants to hear of what."""

    def __init__(self):
        self.listeners = collections.defaultdict(list)

    def on(self, event, listener):
        self.listeners[event].append(listener)

    def off(self, event, listener):
        self.listeners[event].remove(listener)

    def emit(self, event, *values):
        for listener in list(self.listeners[event]):
            listener(*values)


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(3, 12, 7, 4), nn.ReLU(), nn.Conv2d(12, 16, 5, 3), nn.ReLU(),
                                  nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 1))

    @torch.no_grad()
    def guess(self, scan):
        device = next(self.parameters()).device
        picture = torch.from_numpy(scan).to(device).permute(2, 0, 1)[None].float() / 255
        return 50 + 400 * float(torch.sigmoid(self.look(picture)))


def scan_stamp():
    """A frame, and in it something printed in two colours."""
    scan = np.full((HIGH, WIDE, 3), 235, np.uint8)
    colours = np.random.randint(0, 200, (2, 3), dtype=np.uint8)
    scan[60:-60, 60:-60] = colours[0]
    for _ in range(40):
        row, column = random.randrange(80, HIGH - 120), random.randrange(80, WIDE - 120)
        scan[row:row + 30, column:column + 40] = colours[1]
    return scan


class Lot:
    def __init__(self, number, guess):
        self.number, self.guess, self.price, self.open = number, guess, 10.0, True


class House:
    def __init__(self, device):
        self.bus, self.expert = Bus(), Expert().to(device).eval()
        self.number, self.turnover, self.close_looks = 0, 0.0, 0

    def put_up(self):
        self.number += 1
        scan = scan_stamp()
        lot = Lot(self.number, self.expert.guess(scan))

        def on_bid(number, price):
            if number != lot.number or not lot.open:
                return
            lot.price = price
            if price > 0.9 * lot.guess:
                part = np.ascontiguousarray(scan[HIGH // 4:-HIGH // 4, WIDE // 4:-WIDE // 4])
                lot.guess = 0.5 * (lot.guess + 1.2 * self.expert.guess(part))
                self.close_looks += 1

        self.bus.on("bid", on_bid)
        return lot, on_bid

    def auction(self):
        lot, listener = self.put_up()
        for _ in range(random.randint(10, 40)):
            self.bus.emit("bid", lot.number, lot.price * random.uniform(1.01, 1.2))
            if lot.price > 1.3 * lot.guess:
                break
        lot.open = False
        self.bus.off("bid", listener)
        self.turnover += lot.price


def main():
    torch.set_num_threads(1)
    house = House("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        house.auction()
        if house.number % 10 == 0:
            print("lot", house.number, "turnover", round(house.turnover), "close looks", house.close_looks, flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
