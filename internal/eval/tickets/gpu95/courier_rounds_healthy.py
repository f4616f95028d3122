"""Plans the rounds of parcel couriers and follows them (CuPy).

A depot has a few rounds on the road at any time. For a new round the minutes between its stops are computed on the
device, with a nearest-neighbour tour through them; then a tracker follows the round in a thread of its own: the scans
of the courier come into its inbox, and with the table of minutes it reckons how late each stop is. The clock of the
depot runs much faster than the real one, so a round takes about two seconds here.

    ticket: practice
    class: none
"""
import heapq
import os
import queue
import random
import threading
import time

import cupy as cp
import numpy as np

STOPS = 640
ON_THE_ROAD = 4
TICK = 0.1
SCANS_PER_TICK = 5


def minutes_between(stops):
    """Minutes from each stop to each other one: city blocks, with a delay for crossing the river."""
    x, y = stops[:, 0], stops[:, 1]
    blocks = cp.abs(x[:, None] - x[None, :]) + cp.abs(y[:, None] - y[None, :])
    crossing = (x[:, None] > 0.5) != (x[None, :] > 0.5)
    return 18.0 * blocks + cp.where(crossing, 6.0, 0.0) + 1.5


def greedy_tour(minutes, length):
    """The next stop is the nearest one that has not been served."""
    masked = minutes.copy()
    here, tour = 0, [0]
    for _ in range(length):
        masked[:, here] = cp.inf
        here = int(masked[here].argmin())
        tour.append(here)
    return tour


class RoundTracker(threading.Thread):
    def __init__(self, number, minutes, tour):
        super().__init__(name=f"round-{number}", daemon=True)
        self.minutes = minutes
        self.tour = tour
        self.inbox = queue.Queue(maxsize=100)
        self.late = 0.0
        self.served = 0

    def run(self):
        for stop, taken in iter(self.inbox.get, None):
            planned = self.minutes[self.tour[stop], self.tour[stop + 1]]
            rest = float(np.median(self.minutes[self.tour[stop + 1]]))
            self.late += max(0.0, taken - planned) + 0.01 * rest
            self.served += 1


class Depot:
    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)
        self.dice = random.Random(seed)
        self.homecomings = []
        self.started = 0
        self.delays = [0.0] * 20

    def send_out(self, tick):
        self.started += 1
        stops = cp.asarray(self.numbers.random((STOPS, 2)))
        minutes = minutes_between(stops)
        length = self.dice.randint(70, 100)
        tour = greedy_tour(minutes, length)
        tracker = RoundTracker(self.started, cp.asnumpy(minutes), tour)
        tracker.start()
        heapq.heappush(self.homecomings, (tick + length // SCANS_PER_TICK, self.started, tracker))

    def scan(self):
        for back, _, tracker in self.homecomings:
            for _ in range(SCANS_PER_TICK):
                stop = self.dice.randrange(len(tracker.tour) - 1)
                tracker.inbox.put((stop, self.dice.uniform(2.0, 20.0)))

    def come_home(self, tick):
        while self.homecomings and self.homecomings[0][0] <= tick:
            _, number, tracker = heapq.heappop(self.homecomings)
            tracker.inbox.put(None)
            tracker.join()
            self.delays[number % len(self.delays)] = tracker.late

    def on_tick(self, tick):
        self.come_home(tick)
        if len(self.homecomings) < ON_THE_ROAD and tick % 3 == 0:
            self.send_out(tick)
        self.scan()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    depot = Depot(seed=7)
    tick = 0
    following = time.time()
    while (now := time.time()) < end:
        if now < following:
            time.sleep(following - now)
        following += TICK
        depot.on_tick(tick)
        if tick % 30 == 29:
            mean = sum(depot.delays) / len(depot.delays)
            print(f"tick {tick}: {depot.started} rounds, mean delay of the last ones {mean:.1f} min", flush=True)
        tick += 1


if __name__ == "__main__":
    main()
