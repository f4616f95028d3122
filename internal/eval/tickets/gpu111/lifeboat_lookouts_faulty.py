"""A lifeboat carries a thermal camera on its mast, which looks for heads in the water. One thread takes the pictures
and straightens them against the roll of the boat; another looks through them for warm spots that stand out from the
sea and reports what it finds to the coxswain's screen.

ticket: practice
class: app-leak
holder: inbox
cause: unbounded-queue
"""
import math
import os
import queue
import threading
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HEIGHT, WIDTH = 384, 640
PICTURES_A_SECOND = 10
SCREEN_REFRESH = 0.22
WARM = 5.0


class MastCamera(threading.Thread):
    """Takes pictures of the sea, straightens them and hands them on."""

    def __init__(self, inbox, stop):
        super().__init__(name="mast-camera", daemon=True)
        self.inbox = inbox
        self.stop = stop
        self.taken = 0
        self.skipped = 0
        self.generator = torch.Generator(device=DEVICE).manual_seed(610)
        self.rows = torch.linspace(0.0, 6.0, HEIGHT, device=DEVICE).unsqueeze(1)
        self.columns = torch.linspace(0.0, 9.0, WIDTH, device=DEVICE).unsqueeze(0)

    def expose(self):
        noise = torch.randn(HEIGHT, WIDTH, device=DEVICE, generator=self.generator)
        sea = torch.sin(self.rows * 2.0 + 0.3 * self.taken) * torch.cos(self.columns + 0.1 * self.taken)
        picture = noise.mul_(0.3).add_(sea, alpha=0.5)
        if self.taken % 5 == 0:
            row = (self.taken * 37) % (HEIGHT - 8)
            column = (self.taken * 53) % (WIDTH - 8)
            picture[row:row + 6, column:column + 6] += 4.0
        return picture

    def straighten(self, picture):
        roll = 6.0 * math.sin(0.4 * self.taken)
        shift = int(round(roll))
        return torch.roll(picture, shifts=(shift, 2 * shift), dims=(0, 1))  # grows

    def run(self):
        while not self.stop.is_set():
            picture = self.straighten(self.expose())
            try:
                self.inbox.put_nowait((self.taken, picture))  # keeps
            except queue.Full:
                self.skipped += 1
            self.taken += 1
            time.sleep(1.0 / PICTURES_A_SECOND)


class SpotFinder(nn.Module):
    """How much warmer each place is than the sea around it."""

    def __init__(self):
        super().__init__()
        self.near = nn.AvgPool2d(5, stride=2, padding=2)
        self.around = nn.AvgPool2d(21, stride=2, padding=10)

    def forward(self, picture):
        picture = picture[None, None]
        contrast = self.near(picture) - self.around(picture)
        return contrast[0, 0] / contrast.std()


class Lookout(threading.Thread):
    """Looks through the pictures and counts what it would show to the coxswain."""

    def __init__(self, inbox, stop):
        super().__init__(name="lookout", daemon=True)
        self.inbox = inbox
        self.stop = stop
        self.finder = SpotFinder().to(DEVICE)
        self.examined = 0
        self.spots = 0
        self.last = (0, 0, 0)

    def examine(self, number, picture):
        with torch.no_grad():
            contrast = self.finder(picture)
        best = int(contrast.argmax())
        if float(contrast.max()) > WARM:
            self.spots += 1
            self.last = (number, *divmod(best, contrast.shape[1]))
        self.examined += 1

    def run(self):
        while not self.stop.is_set():
            try:
                number, picture = self.inbox.get(timeout=0.5)
            except queue.Empty:
                continue
            self.examine(number, picture)
            time.sleep(SCREEN_REFRESH)


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    torch.set_num_threads(1)
    inbox = queue.Queue()
    stop = threading.Event()
    camera = MastCamera(inbox, stop)
    lookout = Lookout(inbox, stop)
    until = time.monotonic() + seconds
    camera.start()
    lookout.start()
    while time.monotonic() < until:
        time.sleep(min(2.0, max(0.0, until - time.monotonic())))
        number, row, column = lookout.last
        print(f"examined {lookout.examined} pictures, {lookout.spots} warm spots, last in picture {number} "
              f"at row {row}, column {column}", flush=True)
    stop.set()
    camera.join(timeout=5.0)
    lookout.join(timeout=5.0)
    print(f"watch ends: {lookout.examined} pictures examined, {lookout.spots} spots shown", flush=True)


if __name__ == "__main__":
    main()
