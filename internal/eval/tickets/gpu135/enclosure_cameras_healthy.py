"""Night watch of a zoo by camera.

Two cameras look into the enclosures of the otters and of the red pandas. Each sends its pictures to the keepers' room,
where a small network looks at them and says whether the animals sleep, eat or move about. The keeper on duty sees the
tallies of the night. The cameras run in threads of their own; the watch runs in another.

ticket: practice
class: none
"""
import os
import queue
import threading
import time
from collections import Counter
from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FRAMES_PER_SECOND = 10
LOOKS_PER_SECOND = 10
HEIGHT, WIDTH = 192, 272
STATES = ("asleep", "eating", "moving")


@dataclass
class Frame:
    enclosure: str
    number: int
    picture: torch.Tensor


class WatchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Conv2d(8, 12, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4)
        )
        self.state = nn.Linear(12 * 16, len(STATES))

    def forward(self, pictures):
        return self.state(self.features(pictures).flatten(1))


class Camera(threading.Thread):
    """Draws a dark picture with a bright animal that wanders about."""

    def __init__(self, enclosure, seed, deliver, closing):
        super().__init__(name=f"camera-{enclosure}", daemon=True)
        self.enclosure = enclosure
        self._deliver = deliver
        self._closing = closing
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self._place = torch.Generator().manual_seed(seed)
        self.taken = 0

    def _expose(self):
        picture = torch.rand(3, HEIGHT, WIDTH, device=DEVICE, generator=self._generator)
        picture.mul_(0.2)
        row = int(torch.randint(0, HEIGHT - 40, (1,), generator=self._place))
        column = int(torch.randint(0, WIDTH - 60, (1,), generator=self._place))
        picture[:, row: row + 40, column: column + 60] += 0.6
        return picture

    def run(self):
        started = time.monotonic()
        while not self._closing.is_set():
            self.taken += 1
            self._deliver(Frame(self.enclosure, self.taken, self._expose()))
            wait = started + self.taken / FRAMES_PER_SECOND - time.monotonic()
            self._closing.wait(max(0.0, wait))


class NightWatch(threading.Thread):
    def __init__(self, seed, closing):
        super().__init__(name="night-watch", daemon=True)
        torch.manual_seed(seed)
        self._net = WatchNet().to(DEVICE).eval()
        self._frames = queue.Queue()
        self._closing = closing
        self.tallies = Counter()
        self.newest = {}

    def deliver(self, frame):
        self._frames.put(frame)

    def _next_frame(self):
        frame = self._frames.get(timeout=0.5)
        while not self._frames.empty():
            frame = self._frames.get_nowait()
        return frame

    def _look(self, frame):
        with torch.no_grad():
            scores = self._net(frame.picture.unsqueeze(0)).softmax(dim=1)[0]
        state = STATES[int(scores.argmax())]
        self.tallies[frame.enclosure, state] += 1
        self.newest[frame.enclosure] = (frame.number, state)

    def run(self):
        started = time.monotonic()
        looks = 0
        while not self._closing.is_set():
            try:
                frame = self._next_frame()
            except queue.Empty:
                continue
            self._look(frame)
            looks += 1
            self._closing.wait(max(0.0, started + looks / LOOKS_PER_SECOND - time.monotonic()))


def main():
    closing = threading.Event()
    watch = NightWatch(seed=3, closing=closing)
    cameras = [Camera(name, seed, watch.deliver, closing) for name, seed in (("otters", 51), ("red pandas", 52))]
    for thread in (watch, *cameras):
        thread.start()
    started = time.monotonic()
    while time.monotonic() - started < SECONDS:
        time.sleep(min(3.0, max(0.05, started + SECONDS - time.monotonic())))
        seen = ", ".join(f"{name} {state} (picture {number})" for name, (number, state) in sorted(watch.newest.items()))
        print(f"{time.monotonic() - started:5.1f} s: {seen}", flush=True)
    closing.set()
    for thread in (*cameras, watch):
        thread.join(timeout=2.0)
    pictures = sum(camera.taken for camera in cameras)
    print(f"morning: {sum(watch.tallies.values())} looks, {pictures} pictures", flush=True)


if __name__ == "__main__":
    main()
