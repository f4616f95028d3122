"""Fish are counted on videos of dives along a reef. A thread of its own gets the pictures of a video ready, some ahead,
while the network looks at those before. As soon as a video has shown fish enough, or none for long, the thread is
stopped, and the next video is taken.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time

import numpy as np
import torch
from torch import nn

HIGH, WIDE, AT_ONCE, AHEAD = 180, 240, 6, 5


def pictures(length):
    water = np.random.randint(40, 120, (HIGH, WIDE, 3), dtype=np.uint8)
    for _ in range(length):
        frames = np.repeat(water[None], AT_ONCE, 0)
        for frame in frames:
            for _ in range(random.randint(0, 4)):
                row, column = random.randint(0, HIGH - 12), random.randint(0, WIDE - 20)
                frame[row:row + 12, column:column + 20] += np.uint8(90)
        yield frames


class Ahead:
    """Goes through something in a thread of its own, a few steps ahead of who wants it."""

    def __init__(self, source):
        self.source, self.ready = source, queue.Queue(AHEAD)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.fill, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nobody wants more: the thread finds room for what it has in hand, and sees that it is to stop."""
        self.stopped.set()
        while self.thread.is_alive():
            try:
                self.ready.get(timeout=0.05)
            except queue.Empty:
                pass

    def fill(self):
        for item in self.source:
            self.ready.put(item)
            if self.stopped.is_set():
                return
        self.ready.put(None)

    def __iter__(self):
        while True:
            item = self.ready.get()
            if item is None:
                return
            yield item


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 7, stride=3), nn.ReLU(), nn.Conv2d(8, 8, 5, stride=2), nn.ReLU(),
                                  nn.Conv2d(8, 1, 1))

    @torch.inference_mode()
    def forward(self, frames):
        shown = torch.from_numpy(frames).to(self.body[0].weight.device).permute(0, 3, 1, 2).float() / 255
        contrast = (shown - shown.mean((2, 3), keepdim=True)).relu()
        return (self.body(contrast).sigmoid().mean((1, 2, 3)) + 40 * contrast.mean((1, 2, 3))).tolist()


def watch(counter, video):
    """How many fish there were until it was enough."""
    fish, since = 0.0, 0
    with Ahead(video) as ahead:
        for frames in ahead:
            counts = counter(frames)
            fish += sum(counts)
            since = 0 if max(counts) > 1 else since + 1
            if fish > 60 or since > 4:
                break
            time.sleep(random.uniform(0.01, 0.06))
    return fish


def main():
    torch.set_num_threads(1)
    counter = Counter().to("cuda" if torch.cuda.is_available() else "cpu").eval()
    end, said, videos, total = time.time() + float(os.environ.get("SECONDS", "45")), time.time(), 0, 0.0
    while time.time() < end:
        fish = watch(counter, pictures(random.randint(30, 80)))
        videos, total = videos + 1, total + fish
        if time.time() - said > 2:
            said = time.time()
            print("video", videos, "has", round(fish), "fish; mean", round(total / videos, 1), flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
