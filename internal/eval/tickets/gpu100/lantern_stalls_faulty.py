"""Short offers at the stalls of a night market, priced by how the crowd moves past them.

Walkers drift between the lanterns, and a floor grid counts where they stand. A stall may open an offer for a couple of
seconds: while it runs, the offer listens to the floor and builds a heat map weighted to its own corner, and when it
ends the map says how many passers-by it drew. A notice board hands each floor count to whoever listens.

    ticket: practice
    class: app-leak
    holder: _listeners
    cause: callbacks-left
"""
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROWS, COLUMNS = 512, 1024
WALKERS = 6000
ROUND = 0.125
OFFER_ROUNDS = 14
STALLS = ("dumplings", "candied hawthorn", "grilled squid", "paper fans", "plum tea", "goldfish")

torch.set_num_threads(1)


class NoticeBoard:
    """Passes what happens on the market to those who asked for the topic."""

    def __init__(self):
        self._listeners = {"floor": [], "shower": []}

    def listen(self, topic, listener):
        self._listeners[topic].append(listener)  # keeps

    def leave(self, topic, listener):
        self._listeners[topic] = [known for known in self._listeners[topic] if known is not listener]

    def tell(self, topic, news):
        for listener in tuple(self._listeners[topic]):
            listener(news)


class Floor:
    """The walkers between the stalls."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.extent = torch.tensor([ROWS, COLUMNS], device=DEVICE, dtype=torch.float32)
        self.places = torch.rand(WALKERS, 2, device=DEVICE, generator=self.generator) * self.extent
        self.wetness = 0.0

    def stroll(self):
        steps = torch.randn(WALKERS, 2, device=DEVICE, generator=self.generator)
        self.places = torch.remainder(self.places + (6.0 - 3.0 * self.wetness) * steps, self.extent)
        self.wetness *= 0.9

    def count(self):
        cells = self.places.long().clamp(min=0)
        flat = cells[:, 0].clamp(max=ROWS - 1) * COLUMNS + cells[:, 1].clamp(max=COLUMNS - 1)
        return torch.bincount(flat, minlength=ROWS * COLUMNS).view(ROWS, COLUMNS)

    def on_shower(self, strength):
        self.wetness = strength


class Offer:
    """One offer of one stall, from the gong that opens it to the gong that ends it."""

    def __init__(self, board, stall, row, column):
        self.board = board
        self.stall = stall
        self.row, self.column = row, column
        self.rounds = 0
        self.open = True
        self.heat = torch.zeros(ROWS, COLUMNS, device=DEVICE)  # grows
        board.listen("floor", self.on_floor)

    def on_floor(self, count):
        if not self.open:
            return
        self.heat.mul_(0.95).add_(count)
        self.rounds += 1

    def close(self):
        self.open = False
        self.board.leave("floor", self.on_floor)
        top, left = max(0, self.row - 40), max(0, self.column - 40)
        return float(self.heat[top:self.row + 40, left:self.column + 40].sum()) / max(1, self.rounds)


def main():
    rng = random.Random(31)
    board = NoticeBoard()
    floor = Floor(seed=31)
    board.listen("shower", floor.on_shower)
    running, drawn, best = [], 0, ("", 0.0)
    end = time.time() + SECONDS
    spoken = time.time()
    rounds = 0
    while time.time() < end:
        started = time.time()
        floor.stroll()
        if rng.random() < 0.03:
            board.tell("shower", rng.uniform(0.3, 1.0))
        if rounds % 3 == 0:
            running.append(Offer(board, rng.choice(STALLS), rng.randrange(ROWS), rng.randrange(COLUMNS)))
        board.tell("floor", floor.count())
        if running and running[0].rounds >= OFFER_ROUNDS:
            offer = running.pop(0)
            crowd = offer.close()
            drawn += 1
            best = max(best, (offer.stall, crowd), key=lambda entry: entry[1])
        rounds += 1
        if time.time() - spoken > 3.0:
            spoken = time.time()
            print(f"{drawn} offers ended, best draw: {best[0]} with {best[1]:.1f}", flush=True)
        time.sleep(max(0.01, ROUND - (time.time() - started)))
    print(f"the lanterns go out after {rounds} rounds, {drawn} offers on {DEVICE}", flush=True)


if __name__ == "__main__":
    main()
