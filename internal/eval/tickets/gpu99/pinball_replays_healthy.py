"""Replay desk of a pinball hall.

The tables in the hall report the path of every ball that drains. The desk renders the path as a short clip of glowing
frames, and the attract screen above the door shows clips one by one with a score for style. Clips that find no place
in the programme are counted as skipped.

ticket: practice
class: none
"""
import os
import queue
import threading
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
BALLS_A_SECOND = 9.0
SHOWN_FOR = 0.25
FRAMES = 24
HEIGHT, WIDTH = 128, 80
TABLES = 4


class Playfield:
    """A table with bumpers; plays one ball at a time and gives its path."""

    def __init__(self, seed):
        self._random = torch.Generator().manual_seed(seed)
        self._bumpers = torch.rand(6, 2, generator=self._random)

    def play_ball(self):
        place = torch.tensor([0.5, 0.1])
        speed = 0.12 * (torch.rand(2, generator=self._random) - 0.5)
        path = []
        for _ in range(FRAMES):
            away = place - self._bumpers
            distance = away.norm(dim=1, keepdim=True).clamp(min=0.05)
            speed = 0.97 * speed + (0.0015 * away / distance ** 2).sum(dim=0) + torch.tensor([0.0, 0.004])
            speed = speed.clamp(-0.15, 0.15)
            place = place + speed
            speed = torch.where((place < 0.0) | (place > 1.0), -speed, speed)
            place = place.clamp(0.0, 1.0)
            path.append(place)
        return torch.stack(path)


class ReplayDesk:
    """Renders clips for the attract screen and keeps its programme."""

    def __init__(self):
        self._programme = queue.Queue(maxsize=3 * TABLES)
        self._rows = torch.linspace(0.0, 1.0, HEIGHT, device=DEVICE).view(1, HEIGHT, 1)
        self._columns = torch.linspace(0.0, 1.0, WIDTH, device=DEVICE).view(1, 1, WIDTH)
        self.skipped = 0

    def render(self, path):
        path = path.to(DEVICE)
        rows = (self._rows - path[:, 1].view(-1, 1, 1)) ** 2
        columns = (self._columns - path[:, 0].view(-1, 1, 1)) ** 2
        return torch.exp(-600.0 * (rows + columns))

    def submit(self, table, path):
        clip = self.render(path)
        try:
            self._programme.put_nowait((table, clip))
        except queue.Full:
            self.skipped += 1

    def next_clip(self):
        return self._programme.get(timeout=0.2)


class AttractScreen(threading.Thread):
    """Shows the clips of the desk and gives each a score for style."""

    def __init__(self, desk):
        super().__init__(name="attract-screen")
        self._desk = desk
        self._closing = threading.Event()
        self.shown = 0
        self.best = 0.0

    def run(self):
        while not self._closing.is_set():
            try:
                table, clip = self._desk.next_clip()
            except queue.Empty:
                continue
            self.best = max(self.best, self._style(clip))
            self.shown += 1
            self._closing.wait(SHOWN_FOR)

    @staticmethod
    def _style(clip):
        motion = (clip[1:] - clip[:-1]).abs().mean(dim=(1, 2))
        return float(1000.0 * motion.std())

    def close(self):
        self._closing.set()
        self.join()


def main():
    playfields = [Playfield(seed=1947 + table) for table in range(TABLES)]
    desk = ReplayDesk()
    screen = AttractScreen(desk)
    screen.start()
    balls = 0
    end = time.monotonic() + SECONDS
    next_line = time.monotonic() + 2.5
    while time.monotonic() < end:
        began = time.monotonic()
        table = balls % TABLES
        desk.submit(table, playfields[table].play_ball())
        balls += 1
        if began >= next_line:
            print(f"{balls} balls drained, {screen.shown} clips shown, best style {screen.best:.2f}", flush=True)
            next_line += 2.5
        time.sleep(max(0.0, 1.0 / BALLS_A_SECOND - (time.monotonic() - began)))
    screen.close()
    print(f"hall closed: {balls} balls, {screen.shown} shown, {desk.skipped} skipped", flush=True)


if __name__ == "__main__":
    main()
