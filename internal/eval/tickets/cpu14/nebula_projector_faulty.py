"""A planetarium show that flies through a nebula.

One thread composes frames of the flight: while the camera moves it makes many, while it rests before a view it makes
none. Another thread is the projector, which shows a frame at its own steady beat, warped to the curve of the dome. The
main thread is the show's operator and reports on brightness and position.

ticket: practice
class: host-growth
holder: _waiting
cause: unbounded-queue
"""
import os
import queue
import threading
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
FLIGHT = 4.0
VIEW = 4.0
FRAMES_PER_SECOND = 28
SHOWN_PER_SECOND = 6
SIDE = 256


class Nebula:
    """A volume of glowing gas, made of a few layers that slide over each other."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        layers = rng.random((12, 1024, 1024), dtype=np.float32)
        for axis in (1, 2):
            layers = (layers + np.roll(layers, 1, axis) + np.roll(layers, 2, axis)) / 3.0
        self.layers = layers
        self.speeds = rng.uniform(0.4, 2.0, size=12)

    def compose(self, position):
        frame = np.zeros((SIDE, SIDE), dtype=np.float32)  # grows
        for layer, speed in zip(self.layers[::3], self.speeds[::3]):
            left = int(position * speed) % (1024 - SIDE)
            top = int(position * speed * 0.5) % (1024 - SIDE)
            frame += layer[top:top + SIDE, left:left + SIDE]
        return frame


class Flight(threading.Thread):
    """Composes frames while the camera moves."""

    def __init__(self, nebula, waiting, over):
        super().__init__(name="flight")
        self.nebula = nebula
        self._waiting = waiting
        self.over = over
        self.position = 0.0
        self.composed = 0

    def run(self):
        started = time.monotonic()
        while not self.over.is_set():
            turn = time.monotonic()
            if (turn - started) % (FLIGHT + VIEW) < FLIGHT:
                self.position += 1.7
                self._waiting.put((self.composed, self.nebula.compose(self.position)))  # keeps
                self.composed += 1
            time.sleep(max(0.0, 1.0 / FRAMES_PER_SECOND - (time.monotonic() - turn)))


class Projector(threading.Thread):
    """Shows frames on the dome."""

    def __init__(self, waiting, over):
        super().__init__(name="projector")
        self._waiting = waiting
        self.over = over
        self.shown = 0
        self.brightness = 0.0
        rows, columns = np.mgrid[0:SIDE, 0:SIDE]
        radius = np.hypot(rows - SIDE / 2, columns - SIDE / 2) / (SIDE / 2)
        bend = np.clip(1.0 - 0.2 * radius * radius, 0.5, 1.0)
        self.rows = ((rows - SIDE / 2) * bend + SIDE / 2).astype(int)
        self.columns = ((columns - SIDE / 2) * bend + SIDE / 2).astype(int)

    def next_frame(self):
        number, frame = self._waiting.get(timeout=0.5)
        return number, frame

    def run(self):
        while not self.over.is_set():
            turn = time.monotonic()
            try:
                number, frame = self.next_frame()
            except queue.Empty:
                continue
            warped = frame[self.rows, self.columns]
            self.brightness = float(warped.mean())
            self.shown += 1
            time.sleep(max(0.0, 1.0 / SHOWN_PER_SECOND - (time.monotonic() - turn)))


def main():
    waiting = queue.Queue()
    over = threading.Event()
    flight = Flight(Nebula(seed=42), waiting, over)
    projector = Projector(waiting, over)
    started = printed = time.monotonic()
    flight.start()
    projector.start()
    while time.monotonic() - started < SECONDS:
        time.sleep(0.2)
        turn = time.monotonic()
        if turn - printed >= 3.0:
            printed = turn
            print(f"at {flight.position:.0f}: {projector.shown} frames shown, brightness {projector.brightness:.4f}",
                  flush=True)
    over.set()
    flight.join()
    projector.join()
    print(f"show over at {flight.position:.0f}, {projector.shown} frames shown", flush=True)


if __name__ == "__main__":
    main()
