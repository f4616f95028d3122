"""A mechanical signal box with a frame of forty levers works a junction of six routes. For each train the
signaller pulls the levers of its route, and a recorder samples the motor currents of the points and the wire
tension of the signals while the route is set. When the train has cleared the junction the levers go back to
normal and the record is reduced to the peak load of each channel for the maintenance sheet.

ticket: practice
class: host-growth
holder: _listeners
cause: callbacks-left
"""
import os
import time

import numpy as np

LEVERS = 40
CHANNELS = 16
SAMPLES = 8192
ACTIVE_TRAINS = 6
ROUNDS_PER_SECOND = 8
ROUTES = {
    "up main": (2, 3, 5, 8),
    "down main": (38, 36, 34),
    "branch": (12, 14, 15, 17, 19),
    "goods loop": (21, 22, 25),
    "bay": (28, 29, 31),
    "yard": (10, 11, 33, 35),
}


class LeverFrame:
    """The levers with their positions; whoever wants to know of a pull subscribes."""

    def __init__(self, levers):
        self.position = np.zeros(levers, dtype=bool)
        self.pulls = np.zeros(levers, dtype=np.int64)
        self._listeners = []

    def subscribe(self, listener):
        self._listeners.append(listener)  # keeps

    def unsubscribe(self, listener):
        self._listeners.remove(listener)

    def throw(self, lever, reverse):
        if self.position[lever] == reverse:
            return
        self.position[lever] = reverse
        self.pulls[lever] += 1
        for listener in self._listeners:
            listener(lever, reverse)


class RouteRecorder:
    """Samples the loads along one route from the first pull until the train is clear."""

    def __init__(self, train, route, rng):
        self.train = train
        self.route = route
        self.levers = frozenset(ROUTES[route])
        self.loads = rng.standard_normal((SAMPLES, CHANNELS), dtype=np.float32)  # grows
        self.rounds_left = int(rng.integers(2, 5))
        self.finished = False
        self.moves = 0

    def on_lever(self, lever, reverse):
        if self.finished or lever not in self.levers:
            return
        self.moves += 1
        row = (lever * 61 + self.moves) % (SAMPLES - 32)
        self.loads[row:row + 32, lever % CHANNELS] += 4.0 if reverse else 2.5

    def peaks(self):
        self.finished = True
        return np.abs(self.loads).max(axis=0)


class SignalBox:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.frame = LeverFrame(LEVERS)
        self.routes_set = {}
        self.maintenance = np.zeros((len(ROUTES), CHANNELS), dtype=np.float32)
        self.route_rows = {name: row for row, name in enumerate(ROUTES)}
        self.next_train = 1
        self.cleared = 0

    def offer_trains(self):
        free = [name for name in ROUTES if name not in self.routes_set]
        self.rng.shuffle(free)
        for route in free[:ACTIVE_TRAINS - len(self.routes_set)]:
            recorder = RouteRecorder(self.next_train, route, self.rng)
            self.next_train += 1
            self.frame.subscribe(recorder.on_lever)
            self.routes_set[route] = recorder
            for lever in ROUTES[route]:
                self.frame.throw(lever, True)

    def clear_trains(self):
        for route, recorder in list(self.routes_set.items()):
            recorder.rounds_left -= 1
            if recorder.rounds_left > 0:
                continue
            for lever in reversed(ROUTES[route]):
                self.frame.throw(lever, False)
            row = self.route_rows[route]
            np.maximum(self.maintenance[row] * 0.995, recorder.peaks(), out=self.maintenance[row])
            del self.routes_set[route]
            self.cleared += 1

    def work(self):
        self.clear_trains()
        self.offer_trains()


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    box = SignalBox(seed=1873)
    start = time.monotonic()
    next_report = start + 2.0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        box.work()
        if began >= next_report:
            print(f"{began - start:6.1f} s  trains {box.cleared}  pulls {int(box.frame.pulls.sum())}  "
                  f"heaviest load {box.maintenance.max():.2f}", flush=True)
            next_report = began + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    busiest = int(box.frame.pulls.argmax())
    print(f"box closed: {box.cleared} trains, busiest lever {busiest}", flush=True)


if __name__ == "__main__":
    main()
