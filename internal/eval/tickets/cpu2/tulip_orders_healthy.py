"""A market for tulip bulbs. Buyers and sellers send orders as text; the book has a heap for each side with the best
price on top. Dealers change their minds often and cancel: such an order is only struck off, and it goes out of the
heap when it comes up to the top or when the heap is cleaned. What an order said is kept with it, for the
confirmation when it is met.

ticket: practice
class: none
"""

import heapq
import json
import os
import random
import time
from itertools import count

BULBS = "Semper Augustus", "Viceroy", "Admiral", "Switser"
STANDING = 300  # orders that outlast a tick


class Order:
    __slots__ = ("number", "price", "bulbs", "message", "open")

    def __init__(self, number, message):
        said = json.loads(message)
        self.number, self.price, self.bulbs = number, said["price"], said["bulbs"]
        self.message, self.open = message, True


class Side:
    """The buyers' or the sellers' orders; sign makes the best price the smallest key."""

    def __init__(self, sign):
        self.sign, self.heap, self.limit = sign, [], 1_000

    def add(self, order):
        if len(self.heap) > self.limit:
            self.heap = [entry for entry in self.heap if entry[2].open]
            heapq.heapify(self.heap)
            self.limit = max(1_000, 2 * len(self.heap))
        heapq.heappush(self.heap, (self.sign * order.price, order.number, order))

    def best(self):
        while self.heap and not self.heap[0][2].open:
            heapq.heappop(self.heap)
        return self.heap[0][2] if self.heap else None


class Book:
    def __init__(self):
        self.bids, self.asks = Side(-1), Side(+1)
        self.open, self.numbers, self.met = {}, count(1), 0

    def place(self, side, message):
        order = Order(next(self.numbers), message)
        self.open[order.number] = order
        side.add(order)
        self.match()
        return order.number

    def cancel(self, number):
        order = self.open.pop(number, None)
        if order:
            order.open = False

    def match(self):
        while (bid := self.bids.best()) and (ask := self.asks.best()) and bid.price >= ask.price:
            bulbs = min(bid.bulbs, ask.bulbs)
            for order in (bid, ask):
                order.bulbs -= bulbs
                if not order.bulbs:
                    self.cancel(order.number)
            self.met += 1


def message(side, middle):
    """What a dealer writes: most stay away from the middle, for they hope for a bargain."""
    distance = random.expovariate(1 / 30) - 3
    price = round(middle - distance if side == "buy" else middle + distance)
    note = f"{random.choice(BULBS)}, weight {random.randrange(100, 700)} aces. " * random.randint(10, 30)
    dealer = f"dealer {random.randrange(400)}"
    said = {"side": side, "price": price, "bulbs": random.randint(1, 9), "dealer": dealer, "note": note}
    return json.dumps(said)


def main():
    book, placed, middle, ticks = Book(), [], 1000.0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        middle += 0.1 * (1000 - middle) + random.gauss(0, 1)
        random.shuffle(placed)
        while len(placed) > STANDING:
            book.cancel(placed.pop())
        for _ in range(random.randint(150, 350)):
            side = random.choice(("buy", "sell"))
            placed.append(book.place(book.bids if side == "buy" else book.asks, message(side, middle)))
        ticks += 1
        if ticks % 25 == 0:
            print(f"tick {ticks}: middle {middle:.0f}, {len(book.open)} open, {book.met} met", flush=True)
        time.sleep(random.uniform(0.03, 0.1))


if __name__ == "__main__":
    main()
