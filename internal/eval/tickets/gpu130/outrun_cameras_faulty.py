"""Video distance measurement at a ski jump.

Two cameras look along the landing slope and the outrun. Their frames go to the measuring booth, where the
landing of a jumper is found as the brightest moving spot and turned into metres from the takeoff table. The
booth keeps a slow background picture of the slope, so that snow and shadows do not count as jumpers.

ticket: practice
class: app-leak
holder: inbox
cause: unbounded-queue
"""
import os
import queue
import threading
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
HEIGHT, WIDTH = 384, 400
CAMERAS = ("slope", "outrun")
FRAMES_PER_SECOND = 10
BATCHES_PER_SECOND = 5
BATCH_FRAMES = 2
K_POINT = 120.0


@dataclass
class Frame:
    camera: str
    number: int
    picture: torch.Tensor


class Camera(threading.Thread):
    """Delivers frames of the slope with a jumper gliding through."""

    def __init__(self, name, inbox, closing, seed):
        super().__init__(name=f"camera-{name}")
        self.camera = name
        self.inbox = inbox
        self.closing = closing
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self._rows = torch.arange(HEIGHT, device=DEVICE)[:, None].float()
        self._cols = torch.arange(WIDTH, device=DEVICE)[None, :].float()

    def expose(self, number):
        row = 40.0 + (number * 9) % 300
        col = 30.0 + (number * 11) % 340
        jumper = torch.exp(-((self._rows - row).square() + (self._cols - col).square()) / 60.0)
        snow = torch.rand(HEIGHT, WIDTH, device=DEVICE, generator=self._generator)
        return snow.mul_(0.2).add_(jumper)

    def run(self):
        number = 0
        while not self.closing.wait(1.0 / FRAMES_PER_SECOND):
            number += 1
            picture = self.expose(number)  # grows
            self.inbox.put(Frame(self.camera, number, picture))  # keeps


class MeasuringBooth(threading.Thread):
    """Finds the jumper in each frame and tells the distance."""

    def __init__(self, inbox, closing):
        super().__init__(name="booth")
        self.inbox = inbox
        self.closing = closing
        self.background = {name: torch.zeros(HEIGHT, WIDTH, device=DEVICE) for name in CAMERAS}
        self.measured = 0
        self.longest = 0.0
        self.last = 0.0

    def next_batch(self):
        batch = []
        while len(batch) < BATCH_FRAMES:
            try:
                batch.append(self.inbox.get_nowait())
            except queue.Empty:
                break
        return batch

    def measure(self, frame):
        background = self.background[frame.camera]
        moving = (frame.picture - background).clamp_(min=0.0)
        background.lerp_(frame.picture, 0.05)
        spot = int(moving.argmax())
        offset = 0.0 if frame.camera == "slope" else 45.0
        return K_POINT - 60.0 + offset + 0.2 * (spot % WIDTH)

    def run(self):
        while not self.closing.wait(1.0 / BATCHES_PER_SECOND):
            for frame in self.next_batch():
                self.last = self.measure(frame)
                self.longest = max(self.longest, self.last)
                self.measured += 1


def main():
    torch.set_num_threads(1)
    torch.zeros(1, device=DEVICE)
    closing = threading.Event()
    inbox = queue.Queue()
    booth = MeasuringBooth(inbox, closing)
    cameras = [Camera(name, inbox, closing, seed=300 + place) for place, name in enumerate(CAMERAS)]
    started = time.monotonic()
    for thread in [booth, *cameras]:
        thread.start()
    try:
        while True:
            left = SECONDS - (time.monotonic() - started)
            if left <= 0:
                break
            time.sleep(min(3.0, left))
            print(f"booth: {booth.measured} frames, last {booth.last:.1f} m, "
                  f"longest {booth.longest:.1f} m", flush=True)
    finally:
        closing.set()
        for thread in [*cameras, booth]:
            thread.join()
    print(f"competition over: {booth.measured} frames, longest {booth.longest:.1f} m", flush=True)


if __name__ == "__main__":
    main()
