"""Control room of a fire brigade: which hydrant and which engine for a call.

Calls come in bursts, as several people see the same fire. Each call is laid on the grid of streets, the distances from
it are searched, and the nearest hydrant and the nearest engine are picked. A call that leads to a hydrant to which an
engine is already on its way joins that engine. The calls being worked on are listed for the wall display.

ticket: practice
class: host-growth
holder: underway
cause: entries-left
"""
import heapq
import itertools
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

BLOCKS = 42
BURST_EVERY = 1.25
ENGINES = 7


class Town:
    """Grid of streets with a travel time per stretch, and its hydrants."""

    def __init__(self, rng):
        self.corners = list(itertools.product(range(BLOCKS), repeat=2))
        self.streets = {corner: [] for corner in self.corners}
        for row, col in self.corners:
            for other in ((row + 1, col), (row, col + 1)):
                if other in self.streets:
                    seconds = rng.uniform(8, 30)
                    self.streets[(row, col)].append((other, seconds))
                    self.streets[other].append(((row, col), seconds))
        self.hydrants = rng.sample(self.corners, 90)

    def reach(self, origin):
        """Seconds and way from the origin to each corner, as text for the crew's terminal."""
        best, heap, found = {origin: 0.0}, [(0.0, origin, None)], {}
        while heap:
            seconds, corner, before = heapq.heappop(heap)
            if corner in found:
                continue
            way = found[before]["way"] + f"{corner[0]:02d}/{corner[1]:02d} " if before else "start "
            found[corner] = {"seconds": seconds, "way": way}  # grows
            for other, stretch in self.streets[corner]:
                if seconds + stretch < best.get(other, 1e9):
                    best[other] = seconds + stretch
                    heapq.heappush(heap, (best[other], other, corner))
        return found


class Desk:
    def __init__(self, town, rng):
        self.town = town
        self.lock = threading.Lock()
        self.engines = {number: rng.choice(town.corners) for number in range(ENGINES)}
        self.driving = {}
        self.underway = {}
        self.sent = self.joined = 0

    def handle(self, call):
        """Answers one call: the hydrant, the engine, and the seconds until it is there."""
        number, corner = call
        reach = self.town.reach(corner)  # grows
        with self.lock:
            self.underway[number] = {"corner": corner, "reach": reach, "since": time.time()}  # keeps
        hydrant = min(self.town.hydrants, key=lambda place: reach[place]["seconds"])
        with self.lock:
            if hydrant in self.driving:
                self.joined += 1
                return hydrant, self.driving[hydrant], 0.0
        engine, seconds = self.send(hydrant, reach)
        with self.lock:
            del self.underway[number]
        return hydrant, engine, seconds

    def send(self, hydrant, reach):
        with self.lock:
            engine = min(self.engines, key=lambda number: reach[self.engines[number]]["seconds"])
            seconds = reach[self.engines[engine]]["seconds"]
            self.engines[engine] = hydrant
            self.driving[hydrant] = engine
            self.sent += 1
        return engine, seconds

    def back_home(self):
        with self.lock:
            self.driving.clear()

    def oldest(self):
        with self.lock:
            return max((time.time() - entry["since"] for entry in self.underway.values()), default=0.0)


def bursts(town, rng):
    """One or two fires at a time, each seen by several callers nearby."""
    numbers = itertools.count(1)
    while True:
        fires = rng.sample(town.corners, 2)
        yield [(next(numbers), rng.choice(fires)) for _ in range(rng.randint(14, 18))]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rng = random.Random(1666)
    town = Town(rng)
    desk = Desk(town, rng)
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="desk") as pool:
        for number, burst in enumerate(bursts(town, rng), 1):
            answers = list(pool.map(desk.handle, burst))
            if number % 3 == 0:
                slowest = max(seconds for _, _, seconds in answers)
                print(f"burst {number}: {len(burst)} calls, {desk.sent} engines sent, {desk.joined} joined, slowest "
                      f"{slowest:.0f} s, oldest on the wall {desk.oldest():.1f} s", flush=True)
            desk.back_home()
            if time.time() + BURST_EVERY > end:
                break
            time.sleep(BURST_EVERY)


if __name__ == "__main__":
    main()
