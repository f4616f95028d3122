"""At a cheese fair every wheel entered for the prize rolls over a turntable under a line scanner, ahead of the jury.

A clerk in the back room develops each scan into an even picture of the rind: shading removed, cracks and mites marked.
The desk enters the wheels' blemish scores as they arrive and closes when the last picture has been developed.

ticket: practice
class: none
"""
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 10
LINES = 360
PIXELS = 320
CLASSES = ["hard", "blue", "washed", "goat"]


class Turntable:
    """Makes the raw scans: a rind with grain, uneven lamps and now and then a crack."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.grain = self.rng.standard_normal((LINES, PIXELS)).astype(np.float32)
        self.lamps = (1.0 + 0.35 * np.sin(np.linspace(0.0, np.pi, PIXELS))).astype(np.float32)

    def roll(self):
        turn = int(self.rng.integers(LINES))
        raw = (0.6 + 0.05 * np.roll(self.grain, turn, axis=0)) * self.lamps
        for _ in range(int(self.rng.integers(0, 5))):
            line = int(self.rng.integers(LINES - 6))
            left = int(self.rng.integers(PIXELS - 60))
            raw[line:line + 3, left:left + 50] *= 0.4
        return raw


def even_out(raw):
    """Take the shading of the lamps out, line by line and column by column."""
    columns = np.median(raw, axis=0, keepdims=True)
    lines = np.median(raw / columns, axis=1, keepdims=True)
    return raw / (columns * lines)


def develop(raw):
    """Picture of the rind with its blemishes: brightness and depth of the marks as two layers."""
    even = even_out(raw)
    marks = np.clip(0.8 - even, 0.0, None)
    return np.stack([even, marks]).astype(np.float32)


class Scoreboard:
    """Blemish scores of each class; the back room enters them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.wheels = dict.fromkeys(CLASSES, 0)
        self.blemishes = dict.fromkeys(CLASSES, 0.0)

    def enter(self, name, picture):
        score = float((picture[1] > 0.15).mean()) * 1000.0
        with self.lock:
            self.wheels[name] += 1
            self.blemishes[name] += score

    def line(self):
        with self.lock:
            return ", ".join(f"{name} {self.blemishes[name] / max(self.wheels[name], 1):.1f}" for name in CLASSES)


class ScanDesk:
    """Hands the scans to the back room and waits for it at closing time."""

    def __init__(self, board):
        self.board = board
        self.clerk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="clerk")
        self._developing = []
        self.taken = 0

    def take(self, name, raw):
        picture = self.clerk.submit(develop, raw)
        picture.add_done_callback(lambda done: self.board.enter(name, done.result()))
        self._developing = [job for job in self._developing if not job.done()]
        self._developing.append(picture)
        self.taken += 1

    def close(self):
        """Wait for what is still in the back room and send the clerk home."""
        for picture in self._developing:
            picture.result()
        self.clerk.shutdown()


def main():
    turntable = Turntable(5512)
    classes = np.random.default_rng(5513)
    board = Scoreboard()
    desk = ScanDesk(board)
    began = time.monotonic()
    next_line = 3.0
    while True:
        now = time.monotonic() - began
        if now >= SECONDS:
            break
        desk.take(CLASSES[int(classes.integers(len(CLASSES)))], turntable.roll())
        if now >= next_line:
            print(f"{now:6.1f} s  wheels {desk.taken:5d}  blemishes per mille: {board.line()}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, ROUND - (time.monotonic() - began - now)))
    desk.close()
    print(f"jury may come: {desk.taken} wheels scanned, {board.line()}", flush=True)


if __name__ == "__main__":
    main()
