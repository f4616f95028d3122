"""
Behind the dryer of a paper mill a line camera looks at the running web for holes, wrinkles and dirt. The
machine runs faster and slower as the grade of paper changes, and the camera takes pictures in step
with it. A second thread, the inspector, looks through the pictures at its own beat and enters faults in the
roll's record.

ticket: practice
class: host-growth
holder: pictures
cause: unbounded-queue
"""
import collections
import os
import queue
import threading
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
PICTURE = (256, 512)
INSPECTOR_BEAT = 0.1
GRADES = (("newsprint", 22.0, 6.0), ("board", 7.0, 4.0))


class DryWeb:
    """Simulates the web: a texture of fibres with a fault here and there."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.texture = self.rng.random((6, PICTURE[0] * 4, PICTURE[1] * 4), dtype=np.float32)
        self.metres = 0.0

    def picture(self):
        plate = int(self.rng.integers(len(self.texture)))
        row = int(self.rng.integers(0, PICTURE[0]))
        column = int(self.rng.integers(0, PICTURE[1]))
        view = self.texture[plate, row:row + PICTURE[0], column:column + PICTURE[1]]
        picture = view * np.float32(0.2)  # grows
        if self.rng.random() < 0.15:
            picture[row % 200:row % 200 + 12, column % 400:column % 400 + 20] = 1.0
        self.metres += 0.8
        return picture


class RollRecord:
    def __init__(self):
        self.faults = collections.Counter()
        self.inspected = 0
        self.lock = threading.Lock()

    def enter(self, kind):
        with self.lock:
            self.inspected += 1
            if kind:
                self.faults[kind] += 1

    def text(self):
        with self.lock:
            return f"inspected {self.inspected}  holes {self.faults['hole']}  dirt {self.faults['dirt']}"


class LineCamera(threading.Thread):
    def __init__(self, pictures, stop):
        super().__init__(name="line-camera", daemon=True)
        self.pictures = pictures
        self.stop = stop
        self.web = DryWeb(seed=53)
        self.grade = GRADES[0][0]

    def run(self):
        position = 0
        while not self.stop.is_set():
            self.grade, speed, duration = GRADES[position % len(GRADES)]
            self.run_grade(speed, time.monotonic() + duration)
            position += 1

    def run_grade(self, speed, until):
        due = time.monotonic()
        while due < until and not self.stop.is_set():
            self.pictures.put(self.web.picture())  # keeps
            due += 1.0 / speed
            time.sleep(max(0.001, due - time.monotonic()))


class Inspector(threading.Thread):
    def __init__(self, pictures, record, stop):
        super().__init__(name="inspector", daemon=True)
        self.pictures = pictures
        self.record = record
        self.stop = stop

    def run(self):
        due = time.monotonic()
        while not self.stop.is_set():
            if not self.pictures.empty():
                self.record.enter(self.judge(self.pictures.get()))
            due += INSPECTOR_BEAT
            time.sleep(max(0.001, due - time.monotonic()))

    @staticmethod
    def judge(picture):
        bright = int((picture > 0.9).sum())
        if bright > 200:
            return "hole"
        return "dirt" if float(picture.std()) > 0.0582 else ""


def main():
    stop = threading.Event()
    pictures = queue.Queue()
    record = RollRecord()
    camera = LineCamera(pictures, stop)
    inspector = Inspector(pictures, record, stop)
    camera.start()
    inspector.start()
    start = time.monotonic()
    next_line = start + 2.0
    while time.monotonic() - start < SECONDS:
        now = time.monotonic()
        if now >= next_line:
            next_line += 3.0
            print(f"{now - start:6.1f} s  {camera.grade}  {camera.web.metres:.0f} m  {record.text()}", flush=True)
        time.sleep(0.2)
    stop.set()
    camera.join(timeout=2.0)
    inspector.join(timeout=2.0)
    print(f"roll done at {camera.web.metres:.0f} m, {record.text()}", flush=True)


if __name__ == "__main__":
    main()
