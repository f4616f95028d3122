"""A day at a beekeeping fair: visitors stroll between the stalls, and later the swarms are auctioned.

The crowd is a density on a map of the fairground that spreads and is drawn to the stalls. The auction opens twelve
seconds into the day. Each lot is shown with a heat picture of its hive; bidders call, the auctioneer's bell rings, and
the hammer falls after a few rounds. The notice board tells everybody what happens.

ticket: practice
class: app-leak
holder: _listeners
cause: callbacks-left
"""
import os
import random
import time
from collections import defaultdict

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
GROUND = 1024
STALLS = 12
PICTURE = 512
ROUNDS_PER_SECOND = 10
AUCTION_OPENS = 12.0
BELL_EVERY = 1.5


class NoticeBoard:
    """Passes on what is announced under a topic to those who listen."""

    def __init__(self):
        self._listeners = defaultdict(list)

    def subscribe(self, topic, listener):
        self._listeners[topic].append(listener)  # keeps

    def unsubscribe(self, topic, listener):
        self._listeners[topic].remove(listener)

    def announce(self, topic, *details):
        for listener in list(self._listeners[topic]):
            listener(*details)


class Fairground:
    """The map of the crowd."""

    def __init__(self, board, rng):
        self.rng = rng
        self.crowd = torch.rand(GROUND, GROUND, device=DEVICE)
        self.pull = torch.zeros(GROUND, GROUND, device=DEVICE)
        self.rings = 0
        for _ in range(STALLS):
            row, column = rng.randrange(GROUND - 40), rng.randrange(GROUND - 40)
            self.pull[row:row + 40, column:column + 40] = rng.uniform(0.5, 1.5)
        board.subscribe("bell", self.on_bell)

    def stroll(self):
        shift, along = self.rng.choice([-1, 1]), self.rng.choice([0, 1])
        self.crowd.lerp_(self.crowd.roll(shift, dims=along), 0.3)
        self.crowd.addcmul_(self.crowd, self.pull, value=0.001)
        self.crowd.div_(self.crowd.mean())

    def on_bell(self, minute):
        self.rings += 1
        self.crowd[:64].mul_(1.02)


class Lot:
    """A swarm under the hammer."""

    def __init__(self, number, rng):
        self.number = number
        self.calls_left = rng.randint(3, 7)
        self.price = rng.uniform(40, 90)
        self.shown_at = None
        self.picture = torch.randn(PICTURE, PICTURE, device=DEVICE)  # grows

    def on_bid(self, number, amount):
        if number == self.number:
            self.price += amount
            self.calls_left -= 1

    def on_bell(self, minute):
        if self.shown_at is None:
            self.shown_at = minute


class Auction:
    """Brings the lots in and knocks them down."""

    def __init__(self, board, rng):
        self.board = board
        self.rng = rng
        self.lots = []
        self.brought = 0
        self.takings = 0.0

    def bring(self):
        self.brought += 1
        lot = Lot(self.brought, self.rng)
        self.board.subscribe("bid", lot.on_bid)
        self.board.subscribe("bell", lot.on_bell)  # keeps
        self.lots.append(lot)

    def knock_down(self, lot):
        self.board.unsubscribe("bid", lot.on_bid)
        self.lots.remove(lot)
        self.takings += lot.price + lot.picture.mean().item()

    def call(self, rounds):
        if rounds % 2 == 0:
            self.bring()
        for lot in list(self.lots):
            self.board.announce("bid", lot.number, self.rng.uniform(1, 5))
            if lot.calls_left <= 0:
                self.knock_down(lot)


def main():
    torch.manual_seed(103)
    rng = random.Random(103)
    board = NoticeBoard()
    ground = Fairground(board, rng)
    auction = Auction(board, rng)
    start = time.monotonic()
    next_bell, rounds = start + BELL_EVERY, 0
    while (now := time.monotonic()) - start < SECONDS:
        rounds += 1
        ground.stroll()
        if now - start >= AUCTION_OPENS:
            auction.call(rounds)
        if now >= next_bell:
            board.announce("bell", round((now - start) / 60, 2))
            peak = ground.crowd.max().item()
            print(f"bell {ground.rings}: peak {peak:.2f}, {auction.brought} lots, {auction.takings:.0f}", flush=True)
            next_bell += BELL_EVERY
        time.sleep(max(0.02, 1 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"fair closed: {auction.brought} lots for {auction.takings:.0f}", flush=True)


if __name__ == "__main__":
    main()
