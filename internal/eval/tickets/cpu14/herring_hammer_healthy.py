"""An auction hall for herring, run by an event bus.

Landings, bids and hammer falls are events. For every lot a board is put up over the ring, which draws the bids as they
come and, when the hammer falls, gives the lot's final picture to the statistician. The hall sells in sessions of a
quarter of a minute; between two sessions the floor is hosed down and only the ice machines are looked after.

ticket: practice
class: none
"""
import os
import time
from collections import defaultdict

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 5
SELLING = 15.0
HOSING = 10.0
BIDS_PER_LOT = 14
BOARD = (256, 256)


class EventBus:
    """Hands events to whoever has asked for their topic."""

    def __init__(self):
        self._handlers = defaultdict(list)
        self.published = 0

    def subscribe(self, topic, handler):
        self._handlers[topic].append(handler)

    def unsubscribe(self, topic, handler):
        self._handlers[topic].remove(handler)

    def publish(self, topic, *details):
        self.published += 1
        for handler in list(self._handlers[topic]):
            handler(*details)


class LotBoard:
    """The picture of one lot: price against time, drawn bid by bid."""

    def __init__(self, bus, lot, reserve):
        self.bus = bus
        self.lot = lot
        self.reserve = reserve
        self.bids = 0
        self.picture = np.full(BOARD, reserve, dtype=np.float64)
        bus.subscribe("bid", self.on_bid)

    def on_bid(self, lot, price):
        if lot != self.lot:
            return
        column = min(BOARD[1] - 1, self.bids * BOARD[1] // BIDS_PER_LOT)
        self.picture[:, column:] = np.linspace(self.reserve, price, BOARD[0])[:, None]
        self.bids += 1

    def take_down(self):
        final = float(self.picture[-1, -1])
        steepness = float(np.abs(np.diff(self.picture[-1])).max())
        self.bus.unsubscribe("bid", self.on_bid)
        return final, steepness


class Statistician:
    """Prices of the day, by size of herring, and the busiest moments."""

    def __init__(self, bus):
        self.mean_price = np.zeros(4)
        self.lots = np.zeros(4, dtype=int)
        self.bids = 0
        self.wildest = 0.0
        bus.subscribe("bid", self.on_bid)
        bus.subscribe("hammer", self.on_hammer)

    def on_bid(self, lot, price):
        self.bids += 1

    def on_hammer(self, size, final, steepness):
        self.lots[size] += 1
        self.mean_price[size] += (final - self.mean_price[size]) / self.lots[size]
        self.wildest = max(self.wildest, steepness)


class IceMachines:
    """Stores of crushed ice along the quay, each a grid of temperatures."""

    def __init__(self, rng):
        self.rng = rng
        self.stores = rng.normal(-4.0, 1.0, size=(16, 512, 512))

    def tend(self, number):
        store = self.stores[number % len(self.stores)]
        store[1:-1] += 0.2 * (store[2:] + store[:-2] - 2.0 * store[1:-1])
        store += self.rng.normal(0.0, 0.01)
        return float(store.mean())


class AuctionHall:
    """Runs lots through the ring."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.bus = EventBus()
        self.statistician = Statistician(self.bus)
        self.ice = IceMachines(self.rng)
        self.lot = 0

    def sell_lot(self):
        self.lot += 1
        size = int(self.rng.integers(4))
        price = 2.0 + 0.7 * size + float(self.rng.normal(0.0, 0.2))
        board = LotBoard(self.bus, self.lot, price)
        for _ in range(BIDS_PER_LOT):
            price += float(self.rng.exponential(0.1))
            self.bus.publish("bid", self.lot, price)
        final, steepness = board.take_down()
        self.bus.publish("hammer", size, final, steepness)


def main():
    hall = AuctionHall(seed=515)
    started = printed = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        turn = time.monotonic()
        selling = (turn - started) % (SELLING + HOSING) < SELLING
        if selling:
            hall.sell_lot()
        cold = hall.ice.tend(rounds)
        rounds += 1
        if turn - printed >= 3.0:
            printed = turn
            prices = " ".join(f"{price:.2f}" for price in hall.statistician.mean_price)
            print(f"{'selling' if selling else 'hosing'}: lot {hall.lot}, prices {prices}, ice {cold:.2f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - turn)))
    print(f"hall shut: {hall.lot} lots, {hall.statistician.bids} bids", flush=True)


if __name__ == "__main__":
    main()
