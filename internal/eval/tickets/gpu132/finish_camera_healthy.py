"""Photo finish for a day of horse races.

Two line cameras look along the finish, one from the stand and one from the infield. Each takes strips of columns,
which are corrected for the light of the day and passed to the judge's desk. The desk looks for noses crossing the
line, and keeps the best sight of each race.

ticket: practice
class: none
"""
import os
import queue
import threading
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
COLUMNS, HEIGHT = 160, 1024
STRIPS_PER_SECOND = 10
STRIPS_PER_RACE = 60


class Strip:
    """Some columns of the finish line from one camera."""

    def __init__(self, camera, number, light):
        self.camera = camera
        self.number = number
        self.light = light


class LineCamera(threading.Thread):
    """Takes strips at an even pace and passes them to the desk."""

    def __init__(self, name, seed, desk, stop):
        super().__init__(name=name, daemon=True)
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self._gain = torch.linspace(0.8, 1.2, HEIGHT, device=DEVICE)
        self._desk = desk
        self._stop_event = stop

    def expose(self):
        raw = torch.rand(COLUMNS, HEIGHT, generator=self._generator, device=DEVICE)
        horse = int(torch.randint(0, COLUMNS - 24, (1,), generator=self._generator, device=DEVICE))
        raw[horse:horse + 24, HEIGHT // 3:] += 0.8
        return raw * self._gain

    def run(self):
        start = time.monotonic()
        number = 0
        while not self._stop_event.is_set():
            number += 1
            self._desk.hand_in(Strip(self.name, number, self.expose()))
            time.sleep(max(0.0, start + number / STRIPS_PER_SECOND - time.monotonic()))


class JudgeDesk(threading.Thread):
    """Looks through the strips for noses; one look every tenth of a second."""

    def __init__(self, stop):
        super().__init__(name="desk", daemon=True)
        self._strips = queue.Queue()
        self._stop_event = stop
        self._background = {}
        self.noses = 0
        self.judged = 0
        self.best_sight = 0.0

    def hand_in(self, strip):
        self._strips.put(strip)

    def run(self):
        start = time.monotonic()
        look = 0
        while not self._stop_event.is_set():
            look += 1
            try:
                self.judge(self._strips.get(timeout=0.5))
                while not self._strips.empty():
                    self.judge(self._strips.get_nowait())
            except queue.Empty:
                continue
            time.sleep(max(0.0, start + look / STRIPS_PER_SECOND - time.monotonic()))

    def judge(self, strip):
        column_light = strip.light.mean(dim=1)
        background = self._background.setdefault(strip.camera, torch.full_like(column_light, 0.5))
        background.lerp_(column_light, 0.02)
        edge = (column_light[1:] - column_light[:-1]).max()
        sight = float(edge)
        if sight > 0.2:
            self.noses += 1
        if strip.number % STRIPS_PER_RACE == 0:
            self.best_sight = 0.0
        self.best_sight = max(self.best_sight, sight)
        self.judged += 1


def main():
    torch.set_num_threads(1)
    seconds = float(os.environ.get("SECONDS", "120"))
    stop = threading.Event()
    desk = JudgeDesk(stop)
    cameras = [LineCamera("stand", 31, desk, stop), LineCamera("infield", 32, desk, stop)]
    desk.start()
    for camera in cameras:
        camera.start()

    start = time.monotonic()
    next_line = start + 3.0
    while time.monotonic() - start < seconds:
        if time.monotonic() >= next_line:
            print(f"desk: {desk.noses} noses seen, best sight of this race {desk.best_sight:.3f}", flush=True)
            next_line += 3.0
        time.sleep(0.1)
    stop.set()
    for thread in (*cameras, desk):
        thread.join(timeout=2.0)
    print(f"finish line closed after {desk.judged} strips judged", flush=True)


if __name__ == "__main__":
    main()
