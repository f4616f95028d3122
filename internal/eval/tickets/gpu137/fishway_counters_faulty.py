"""A window in the wall of a fishway lets a camera count the salmon that swim by.

Frames come in at five a second. Every two seconds the frames since the last clip are put together into a clip, the fish
in it are counted by their outline, and the count is compared with the clips before, so that a fish that lingers at the
window is not counted twice.

ticket: practice
class: app-leak
holder: history
cause: buffer-without-bound
"""
import collections
import os
import random
import time

import torch
import torch.nn.functional as functional

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 5
CLIP_FRAMES = 10
HEIGHT, WIDTH = 512, 512
COMPARED_CLIPS = 2


class WindowCamera:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        rows = torch.linspace(0.0, 1.0, HEIGHT, device=DEVICE)[:, None]
        self.water = rows.expand(HEIGHT, WIDTH).contiguous() * 0.3
        self.swimmers = []

    def swim(self):
        self.swimmers = [(y, x + 40) for y, x in self.swimmers if x + 80 < WIDTH]
        if self.random.random() < 0.3:
            self.swimmers.append((self.random.randrange(40, HEIGHT - 40), 0))

    def frame(self):
        self.swim()
        image = torch.randn(HEIGHT, WIDTH, device=DEVICE, generator=self.generator).mul_(0.05).add_(self.water)
        for y, x in self.swimmers:
            image[y - 8:y + 8, x:x + 60] += 0.8
        return image


class OutlineCounter:
    """Counts bright blobs on a coarse grid."""

    def __init__(self, cell=16, threshold=0.55):
        self.cell = cell
        self.threshold = threshold

    def coarse(self, clip):
        return functional.avg_pool2d(clip.unsqueeze(1), self.cell).squeeze(1)

    def count(self, clip):
        bright = self.coarse(clip).amax(dim=0) > self.threshold
        return int(bright.any(dim=1).sum())


class ClipHistory:
    """The clips that a new one is compared with."""

    def __init__(self, length):
        self.length = length
        self.history = collections.deque()

    def compare(self, clip):
        likeness = 0.0
        for back in range(1, min(self.length, len(self.history)) + 1):
            earlier = self.history[-back]
            likeness = max(likeness, 1.0 - float((clip[0] - earlier[-1]).abs().mean()))
        return likeness

    def add(self, clip):
        self.history.append(clip)  # keeps


class CountingStation:
    def __init__(self, seed):
        self.camera = WindowCamera(seed)
        self.counter = OutlineCounter()
        self.clips = ClipHistory(COMPARED_CLIPS)
        self.frames = []
        self.clips_seen = 0
        self.fish = 0
        self.lingering = 0

    def step(self):
        self.frames.append(self.camera.frame())
        if len(self.frames) == CLIP_FRAMES:
            clip = torch.stack(self.frames)  # grows
            self.frames.clear()
            self.assess(clip)

    def assess(self, clip):
        counted = self.counter.count(clip)
        if self.clips.compare(clip) > 0.97:
            self.lingering += 1
            counted = max(0, counted - 1)
        self.fish += counted
        self.clips_seen += 1
        self.clips.add(clip)


def main():
    torch.set_num_threads(1)
    station = CountingStation(seed=64)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        station.step()
        rounds += 1
        if rounds % (4 * ROUNDS_PER_SECOND) == 0:
            print(f"clip {station.clips_seen}: {station.fish} fish, {station.lingering} clips with lingering fish",
                  flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"counted {station.fish} fish in {station.clips_seen} clips", flush=True)


if __name__ == "__main__":
    main()
