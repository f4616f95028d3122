"""Camera at the gate of a kite festival.

A thread plays the camera: it renders the kites that cross the gate and lays the frames on a belt. The main thread
takes one frame after another from the belt, looks for the kites with a small filter bank and counts how many cross
the gate and in which colour.

ticket: practice
class: none
"""
import collections
import os
import threading
import time

import torch
from torch.nn import functional

torch.set_num_threads(1)

HEIGHT, WIDTH = 270, 400
CAMERA_RATE = 22.0
BELT_ROOM = 24
COUNT_TIME = 0.11
COLOURS = ("red", "green", "blue")


class Belt:
    """Frames on their way from the camera to the counter."""

    def __init__(self):
        self.frames = collections.deque()
        self.ready = threading.Condition()

    def lay(self, frame):
        with self.ready:
            if len(self.frames) >= BELT_ROOM:
                self.frames.popleft()
            self.frames.append(frame)
            self.ready.notify()

    def take(self, patience):
        with self.ready:
            if not self.frames:
                self.ready.wait(patience)
            return self.frames.popleft() if self.frames else None


class Camera(threading.Thread):
    """Renders diamond-shaped kites over a bright sky."""

    def __init__(self, belt, end):
        super().__init__(name="camera", daemon=True)
        self.belt = belt
        self.end = end
        self.taken = 0
        self.random = torch.Generator().manual_seed(17)
        self.rows = torch.arange(HEIGHT).view(-1, 1)
        self.columns = torch.arange(WIDTH).view(1, -1)

    def render(self):
        frame = torch.full((3, HEIGHT, WIDTH), 200, dtype=torch.uint8)
        for colour in range(3):
            if torch.rand(1, generator=self.random).item() < 0.6:
                row = int(torch.randint(40, HEIGHT - 40, (1,), generator=self.random))
                column = int(torch.randint(40, WIDTH - 40, (1,), generator=self.random))
                inside = (self.rows - row).abs() + (self.columns - column).abs() < 22
                frame[colour][inside] = 255
                frame[(colour + 1) % 3][inside] = 30
        return frame

    def run(self):
        due = time.time()
        while time.time() < self.end:
            self.belt.lay(self.render())
            self.taken += 1
            due += 1.0 / CAMERA_RATE
            time.sleep(max(0.0, due - time.time()))


class Counter:
    """Finds the kites in a frame by the contrast between neighbouring colour planes."""

    def __init__(self):
        self.kernel = torch.ones(1, 1, 8, 8) / 64.0
        self.totals = dict.fromkeys(COLOURS, 0)
        self.counted = 0

    def count(self, frame):
        begun = time.time()
        planes = functional.avg_pool2d(frame[None].float(), 3)[0]
        for index, colour in enumerate(COLOURS):
            contrast = planes[index] - planes[(index + 1) % 3]
            response = functional.conv2d(contrast[None, None], self.kernel)
            if response.max().item() > 150.0:
                self.totals[colour] += 1
        self.counted += 1
        time.sleep(max(0.0, COUNT_TIME - (time.time() - begun)))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    belt = Belt()
    camera = Camera(belt, end)
    counter = Counter()
    camera.start()
    spoken = time.time()
    while time.time() < end:
        frame = belt.take(patience=0.2)
        if frame is not None:
            counter.count(frame)
        if time.time() - spoken > 2.5:
            spoken = time.time()
            seen = " ".join(f"{colour} {number}" for colour, number in counter.totals.items())
            print(f"taken {camera.taken} counted {counter.counted} on the belt {len(belt.frames)}: {seen}", flush=True)
    camera.join()
    print(f"gate closed, {sum(counter.totals.values())} kites", flush=True)


if __name__ == "__main__":
    main()
