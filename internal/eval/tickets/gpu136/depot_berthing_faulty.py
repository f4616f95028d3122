"""Evening berthing at a tram depot.

Trams come in from service one after another and are given a road in the shed. While a tram makes its way over the
ladder of points, its planner keeps a map of what each cell of the yard would cost to cross, and adjusts that map when
the yard reports that a set of points has moved. Once berthed, the tram has no more to do with the yard.

    ticket: practice
    class: app-leak
    holder: _listeners
    cause: callbacks-left
"""
import os
import time
from collections import defaultdict, deque
from functools import partial

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
CELLS = 512
ROADS = 14
SHUNT_ROUNDS = 18
POINTS_GAIN = 0.15


class Yard:
    """The depot's track plan and its telegraph of events."""

    def __init__(self, seed):
        self.rng = torch.Generator(device=DEVICE).manual_seed(seed)
        self.grade = torch.rand(CELLS, CELLS, generator=self.rng, device=DEVICE)
        axis = torch.linspace(0.0, 1.0, CELLS, device=DEVICE)
        self.row, self.column = axis.view(-1, 1), axis.view(1, -1)
        self._listeners = defaultdict(list)

    def listen(self, topic, listener):
        self._listeners[topic].append(listener)  # keeps

    def unlisten(self, topic, listener):
        self._listeners[topic] = [known for known in self._listeners[topic] if known != listener]

    def announce(self, topic, *details):
        for listener in tuple(self._listeners[topic]):
            listener(*details)


class BerthPlanner:
    """Finds the way of one tram from the gate to its road."""

    def __init__(self, yard, fleet_number, road):
        self.yard = yard
        self.fleet_number = fleet_number
        self.road = road
        self.rounds_left = SHUNT_ROUNDS
        target = (road + 0.5) / ROADS
        self.costs = yard.grade + torch.hypot(yard.row - target, yard.column - 1.0)  # grows

    def arrive(self):
        self.yard.listen("points", partial(self.on_points, gain=POINTS_GAIN))

    def berth(self):
        self.yard.unlisten("points", partial(self.on_points, gain=POINTS_GAIN))

    def on_points(self, ladder, gain):
        if self.rounds_left > 0:
            self.costs[:, ladder * 32:(ladder + 1) * 32].mul_(1.0 + gain)

    def advance(self):
        self.rounds_left -= 1
        progress = 1.0 - self.rounds_left / SHUNT_ROUNDS
        column = min(CELLS - 1, int(progress * CELLS))
        return self.costs[:, column].argmin()


class Depot:
    def __init__(self):
        self.yard = Yard(seed=77)
        self.incoming = deque()
        self.shunting = []
        self.occupied = [0] * ROADS
        self.berthed = 0

    def admit(self, fleet_number):
        road = min(range(ROADS), key=self.occupied.__getitem__)
        self.occupied[road] += 1
        planner = BerthPlanner(self.yard, fleet_number, road)
        planner.arrive()
        self.shunting.append(planner)

    def shunt(self):
        steps = [planner.advance() for planner in self.shunting]
        for planner in [planner for planner in self.shunting if planner.rounds_left == 0]:
            planner.berth()
            self.shunting.remove(planner)
            self.berthed += 1
        return float(torch.stack(steps).float().mean()) if steps else 0.0


def main():
    depot = Depot()
    start = time.monotonic()
    rounds = 0
    lateral = 0.0
    while time.monotonic() - start < SECONDS:
        if rounds % 2 == 0:
            depot.admit(fleet_number=200 + rounds // 2 % 90)
        if rounds % 8 == 0:
            depot.yard.announce("points", rounds // 8 % 16)
        lateral = 0.9 * lateral + 0.1 * depot.shunt()
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"{depot.berthed} trams berthed, {len(depot.shunting)} on the ladder, lateral {lateral:.1f}",
                  flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"last tram in, {depot.berthed} berthed on {ROADS} roads", flush=True)


if __name__ == "__main__":
    main()
