"""Bidders over the telephone and the net in the saleroom of an auction house.

Every few seconds a sale opens, bidders take a paddle and follow the lots, and the auctioneer calls the next increment
to whoever is keenest. A taste model on the device ranks the bidders of the sale; when the hammer has fallen on the
last lot they hand their paddles back and the room is cleared for the next sale.

ticket: practice
class: app-leak
holder: live
cause: sessions-kept
"""
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 10
SALE_EVERY = 9 * ROUNDS_A_SECOND
ARRIVALS_UNTIL = 1 * ROUNDS_A_SECOND
HAMMER_AT = 6 * ROUNDS_A_SECOND
ARRIVALS_A_ROUND = 4
LOTS, TRAITS = 512, 512


class Bidder:
    """One bidder in one sale, with what the model thinks of the bidder's interest in each lot."""

    def __init__(self, sale_number, paddle, purse):
        self.ticket = f"{sale_number}-{paddle}"
        self.paddle = paddle
        self.purse = purse
        self.bids = 0
        self.interest = torch.zeros(LOTS, TRAITS, device=DEVICE)  # grows

    def look_at(self, lots, noise):
        self.interest.mul_(0.9).addcmul_(lots, noise, value=0.1)

    def keenness(self, lot):
        return self.interest[lot].norm() * self.purse


class Sale:
    """The lots of one sale and the price of the lot on the block."""

    def __init__(self, number):
        self.number = number
        self.lots = torch.randn(LOTS, TRAITS, device=DEVICE)
        self.bidders = []
        self.block = 0
        self.price = 100.0
        self.turnover = 0.0

    def knock_down(self):
        self.turnover += self.price
        self.block = (self.block + 1) % LOTS
        self.price = 100.0


class Saleroom:
    def __init__(self, rng):
        self.rng = rng
        self.live = {}
        self.sale = None
        self.sales = 0
        self.noise = torch.rand(LOTS, TRAITS, device=DEVICE)

    def open(self):
        self.sales += 1
        self.sale = Sale(self.sales)

    def enter(self):
        paddle = self.rng.randrange(100, 10_000)
        bidder = Bidder(self.sale.number, paddle, self.rng.uniform(0.5, 3.0))
        if bidder.ticket in self.live:
            return
        self.live[bidder.ticket] = bidder  # keeps
        self.sale.bidders.append(bidder)

    def leave(self, bidder):
        self.live.pop(bidder.paddle, None)

    def call(self):
        """One call of the auctioneer: the keenest of a few bidders raises, or the hammer falls."""
        sale = self.sale
        asked = self.rng.sample(sale.bidders, min(6, len(sale.bidders)))
        for bidder in asked:
            bidder.look_at(sale.lots, self.noise)
        scores = torch.stack([bidder.keenness(sale.block) for bidder in asked])
        best = int(scores.argmax())
        asked[best].bids += 1
        sale.price *= 1.1
        if self.rng.random() < 0.25:
            sale.knock_down()

    def close(self):
        sale, self.sale = self.sale, None
        bids = sum(bidder.bids for bidder in sale.bidders)
        for bidder in sale.bidders:
            self.leave(bidder)
        return sale.number, len(sale.bidders), bids, sale.turnover

    def round(self, at):
        """One round of the room; `at` counts the rounds since the sale opened."""
        if at == 0:
            self.open()
        if at < ARRIVALS_UNTIL:
            for _ in range(ARRIVALS_A_ROUND):
                self.enter()
        if at < HAMMER_AT:
            self.call()
        elif at == HAMMER_AT:
            number, bidders, bids, turnover = self.close()
            print(f"sale {number}: {bidders} bidders, {bids} bids, turnover {turnover:.0f}", flush=True)


def main():
    torch.manual_seed(1744)
    torch.set_num_threads(1)
    room = Saleroom(random.Random(1744))
    rounds = 0
    start = due = time.monotonic()
    while time.monotonic() - start < SECONDS:
        room.round(rounds % SALE_EVERY)
        rounds += 1
        if rounds % 50 == 0:
            state = "in the sale" if room.sale else "between sales"
            print(f"round {rounds}, {state}", flush=True)
        due = max(due + 1 / ROUNDS_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"saleroom shut after {room.sales} sales", flush=True)


if __name__ == "__main__":
    main()
