"""Gate watch of a lock keeper on a flight of four chambers.

While a boat is locked through, a watch records the pressure on both leaves of the mitre gate at each reading of
the level. When the chamber is level, the watch is read out, the thrust on the heel post goes into the day's
figures and the next boat enters. The readings come over a small board to which the watches subscribe.

ticket: practice
class: none
"""
import os
import time
from collections import defaultdict
from functools import partial

import torch

torch.set_num_threads(1)
torch.manual_seed(23)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
READINGS_PER_SECOND = 12
READINGS_PER_LOCKAGE = 12
CHAMBERS = ("Upper", "Mill", "Church", "Lower")
RISE = 3.2
POINTS_UP, POINTS_ALONG = 64, 427


class ReadingBoard:
    """Hands each reading of a chamber to those who subscribed to it."""

    def __init__(self):
        self._listeners = defaultdict(list)
        self.faults = 0

    def subscribe(self, chamber, handler):
        self._listeners[chamber].append(partial(self._deliver, handler))

    def unsubscribe(self, chamber, handler):
        listeners = self._listeners[chamber]
        self._listeners[chamber] = [entry for entry in listeners if entry.args[0] != handler]

    def publish(self, chamber, level, moment):
        for entry in tuple(self._listeners[chamber]):
            entry(level, moment)

    def _deliver(self, handler, level, moment):
        try:
            handler(level, moment)
        except ValueError:
            self.faults += 1


class GateWatch:
    """Pressure on the leaves of one gate during one lockage."""

    def __init__(self, boat, heights):
        self.boat = boat
        self.heights = heights
        self.pressure = torch.zeros(READINGS_PER_LOCKAGE, POINTS_UP, POINTS_ALONG, device=DEVICE)
        self.readings = 0

    @property
    def complete(self):
        return self.readings == READINGS_PER_LOCKAGE

    def on_level(self, level, moment):
        if self.complete:
            return
        if not 0.0 <= level <= RISE + 0.1:
            raise ValueError(f"level {level:.2f} of boat {self.boat}")
        head = (level - self.heights).clamp_min(0.0)
        slap = 0.02 * torch.sin(self.heights * 5.0 + moment)
        self.pressure[self.readings] = 9.81 * head + slap
        self.readings += 1

    def heel_post_thrust(self):
        per_reading = self.pressure.sum(dim=(1, 2)) / (POINTS_UP * POINTS_ALONG)
        return per_reading.max().item()


class Chamber:
    def __init__(self, name, board, offset):
        self.name = name
        self.board = board
        self.tick = offset
        self.boats = 0
        self.watch = None
        self.heights = torch.linspace(0, RISE, POINTS_UP, device=DEVICE).view(-1, 1).expand(-1, POINTS_ALONG)

    def admit(self):
        self.boats += 1
        self.watch = GateWatch(f"{self.name}-{self.boats}", self.heights)
        self.board.subscribe(self.name, self.watch.on_level)

    def release(self):
        thrust = self.watch.heel_post_thrust()
        self.board.unsubscribe(self.name, self.watch.on_level)
        self.watch = None
        return thrust

    def advance(self, moment):
        """One reading of the level; the thrust when the lockage is over, or None."""
        if self.watch is None:
            self.admit()
        filled = (self.tick % READINGS_PER_LOCKAGE) / (READINGS_PER_LOCKAGE - 1)
        self.tick += 1
        self.board.publish(self.name, RISE * filled, moment)
        return self.release() if self.watch.complete else None


@torch.no_grad()
def main():
    board = ReadingBoard()
    chambers = [Chamber(name, board, 3 * i) for i, name in enumerate(CHAMBERS)]
    started = time.monotonic()
    due = started
    reading, lockages, worst = 0, 0, 0.0
    while time.monotonic() - started < SECONDS:
        for chamber in chambers:
            thrust = chamber.advance(reading / READINGS_PER_SECOND)
            if thrust is not None:
                lockages += 1
                worst = max(worst, thrust)
        reading += 1
        if reading % (3 * READINGS_PER_SECOND) == 0:
            print(f"{lockages} lockages, worst thrust {worst:.2f} kPa, faults {board.faults}", flush=True)
        due += 1.0 / READINGS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"gates shut after {lockages} lockages", flush=True)


if __name__ == "__main__":
    main()
