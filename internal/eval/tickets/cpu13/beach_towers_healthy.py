"""Watch towers along a bathing beach and the triage desk behind them.

Every tower sweeps the water with a thermal camera and hands its frames to the desk. The desk looks for heads that
have stopped moving: it lifts the frame off the background of its tower, sums up the warm patches and sounds the
horn when a patch stays in one cell for several looks in a row.

ticket: practice
class: none
"""
import os
import queue
import threading
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
FRAME = (192, 256)
CELL = 16


@dataclass(frozen=True)
class WatchPlan:
    towers: int = 3
    frames_per_second: float = 10.0
    looks_per_second: float = 9.0
    inbox_frames: int = 40
    horn_after: int = 4


@dataclass
class Frame:
    tower: int
    taken: float
    heat: np.ndarray


class Tower(threading.Thread):
    """Films the water and brings its frames to the desk."""

    def __init__(self, number, plan, desk, stop):
        super().__init__(name=f"tower-{number}", daemon=True)
        self.number = number
        self.pause = 1.0 / plan.frames_per_second
        self.desk = desk
        self.stop = stop
        self.rng = np.random.default_rng(100 + number)
        self.swimmers = self.rng.uniform((20, 20), (FRAME[0] - 20, FRAME[1] - 20), size=(12, 2))
        self.sea = self.rng.normal(18.0, 0.4, size=FRAME).astype(np.float32)

    def film(self):
        self.swimmers += self.rng.normal(0.0, 1.2, size=self.swimmers.shape)
        np.clip(self.swimmers, 4, np.array(FRAME) - 5, out=self.swimmers)
        heat = self.sea + self.rng.standard_normal(FRAME, dtype=np.float32) * np.float32(0.2)
        for row, column in self.swimmers.astype(int):
            heat[row - 2:row + 3, column - 2:column + 3] += 9.0
        return Frame(self.number, time.monotonic(), heat)

    def run(self):
        while not self.stop.is_set():
            frame = self.film()
            while not self.stop.is_set() and not self.desk.hand_in(frame):
                pass
            self.stop.wait(self.pause)


class TriageDesk:
    def __init__(self, plan):
        self.plan = plan
        self._inbox = queue.Queue(maxsize=plan.inbox_frames)
        self.background = np.full((plan.towers,) + FRAME, 18.0, dtype=np.float32)
        self.still_for = np.zeros((plan.towers, FRAME[0] // CELL, FRAME[1] // CELL), dtype=int)
        self.looked_at = 0
        self.horns = 0

    def hand_in(self, frame):
        try:
            self._inbox.put(frame, timeout=0.5)
        except queue.Full:
            return False
        return True

    def look(self):
        try:
            frame = self._inbox.get(timeout=0.5)
        except queue.Empty:
            return
        ground = self.background[frame.tower]
        lifted = frame.heat - ground
        ground += np.float32(0.05) * np.clip(lifted, -1.0, 1.0)
        warm = lifted.reshape(FRAME[0] // CELL, CELL, FRAME[1] // CELL, CELL).max(axis=(1, 3)) > 6.0
        still = self.still_for[frame.tower]
        still[warm] += 1
        still[~warm] = 0
        alarms = still >= self.plan.horn_after
        self.horns += int(alarms.sum())
        still[alarms] = 0
        self.looked_at += 1


def main():
    plan = WatchPlan()
    stop = threading.Event()
    desk = TriageDesk(plan)
    towers = [Tower(number, plan, desk, stop) for number in range(plan.towers)]
    for tower in towers:
        tower.start()
    started = time.monotonic()
    report_due = started + 2.0
    while time.monotonic() - started < SECONDS:
        desk.look()
        if time.monotonic() >= report_due:
            print(f"looked at {desk.looked_at} frames, horn sounded {desk.horns} times", flush=True)
            report_due += 2.0
        time.sleep(1.0 / plan.looks_per_second)
    stop.set()
    for tower in towers:
        tower.join()
    print(f"beach closed: {desk.looked_at} frames, {desk.horns} horns", flush=True)


if __name__ == "__main__":
    main()
