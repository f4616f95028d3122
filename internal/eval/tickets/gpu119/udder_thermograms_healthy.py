"""Stitching udder thermograms of a dairy herd into panoramas.

During the night the milking robot has taken thermal frames, eight for each visit. After loading, the visits are
stitched one by one: the frames are trimmed at their overlap and laid side by side, and the frame from the middle of
the visit stays at hand as its key frame. Between two visits the panoramas are searched for warm quarters.

ticket: practice
class: none
"""
import os
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 5
ROUNDS_PER_VISIT = 12
VISITS = 30
FRAMES = 8
MIDDLE = FRAMES // 2
HEIGHT, WIDTH = 512, 640
TRIM = 39
STRIP = WIDTH - 2 * TRIM
WARM = 38.2


class NightArchive:
    """The frames of the night, on the device in the order in which the robot took them."""

    def __init__(self, seed=64):
        self.source = torch.Generator().manual_seed(seed)
        self.frames = {}

    def load(self):
        for visit in range(VISITS):
            self.frames[visit] = [self.read_frame() for _ in range(FRAMES)]

    def read_frame(self):
        skin = 35.0 + 3.0 * torch.rand(HEIGHT // 8, WIDTH // 8, generator=self.source)
        skin = skin.repeat_interleave(8, dim=0).repeat_interleave(8, dim=1)
        return skin.to(DEVICE, copy=True)

    def take(self, visit):
        return self.frames.pop(visit)


class KeyFrames:
    """The key frame of each visit that has been stitched."""

    def __init__(self):
        self.keyframes = torch.empty(VISITS, HEIGHT, WIDTH, device=DEVICE)

    def put(self, visit, frame):
        self.keyframes[visit].copy_(frame)

    def warmth(self, visit):
        return float(self.keyframes[visit][HEIGHT // 4 : HEIGHT // 2, WIDTH // 4 : WIDTH // 2].mean())


class Stitcher:
    """Lays the frames of a visit side by side."""

    def __init__(self, archive):
        self.archive = archive
        self.keys = KeyFrames()
        self.panoramas = {}

    def stitch(self, visit):
        frames = self.archive.take(visit)
        panorama = torch.empty(HEIGHT, FRAMES * STRIP, device=DEVICE)
        for place, frame in enumerate(frames):
            panorama[:, place * STRIP : (place + 1) * STRIP] = frame[:, TRIM : WIDTH - TRIM]
        self.level(panorama)
        self.panoramas[visit] = panorama
        self.keys.put(visit, frames[MIDDLE])

    def level(self, panorama):
        for place in range(1, FRAMES):
            seam = place * STRIP
            step = panorama[:, seam].mean() - panorama[:, seam - 1].mean()
            panorama[:, seam : seam + STRIP] -= step

    def warm_share(self, visit):
        band = self.panoramas[visit][HEIGHT // 2 : HEIGHT // 2 + 48]
        return float((band > WARM).float().mean())


def search(stitcher, number):
    """Looks at one of the stitched visits: its warm share and the warmth of its key frame."""
    visit = number % len(stitcher.panoramas)
    return visit, stitcher.warm_share(visit), stitcher.keys.warmth(visit)


def main():
    archive = NightArchive()
    stitcher = Stitcher(archive)
    archive.load()
    print(f"{VISITS} visits of {FRAMES} frames loaded", flush=True)
    start = time.monotonic()
    number = 0
    suspects = set()
    while time.monotonic() - start < SECONDS:
        visit = number // ROUNDS_PER_VISIT
        if number % ROUNDS_PER_VISIT == 0 and visit < VISITS:
            stitcher.stitch(visit)
        seen, share, warmth = search(stitcher, number)
        if share > 0.02:
            suspects.add(seen)
        number += 1
        if number % (ROUNDS_PER_SECOND * 3) == 0:
            print(f"{len(stitcher.panoramas)} visits stitched, visit {seen}: warm share {share:.4f}, "
                  f"key frame {warmth:.2f} degrees", flush=True)
        time.sleep(max(0.0, start + number / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{len(stitcher.panoramas)} panoramas, {len(suspects)} visits to look at", flush=True)


if __name__ == "__main__":
    main()
