"""Follows a weld seam with a laser scanner on the arm of a robot. Each scan is laid onto the part of the cloud that was
seen last, and the offset steers the torch; then the scan's points, with their features, join the cloud, which begins
with the points that were taught. There is room for a million points and more; the newest replace the oldest.

ticket: practice
class: none
"""

import os
import time

import torch

FEATURES, SCAN = 16, 2048
TAUGHT, RECENT, ROOM = 448 * SCAN, 32 * SCAN, 736 * SCAN
PERIOD = 0.25


class Seam:
    """The true seam, which wanders a little to the side of what was taught."""

    def __init__(self, device):
        self.device = device
        self.along, self.aside = 0.0, 0.0

    def scan(self, lateral):
        """Points across the seam: their place, and what the scanner says of the surface."""
        self.along += 0.4
        self.aside = 0.98 * self.aside + 0.05 * torch.randn(()).item()
        points = torch.randn(SCAN, FEATURES, device=self.device)
        points[:, 0] = self.along + 0.2 * points[:, 0]
        points[:, 1] += self.aside - lateral
        points[:, 2] = 0.3 * points[:, 1].abs() + 0.02 * points[:, 2]
        return points


class Cloud:
    def __init__(self, taught):
        self.count = len(taught)
        self.points = taught.new_zeros(ROOM, FEATURES)
        self.points[:self.count] = taught

    def recent(self):
        last = (self.count - 1) % ROOM + 1
        return self.points[max(0, last - RECENT):last]

    def add(self, scan):
        place = self.count % ROOM
        self.points[place:place + SCAN] = scan
        self.count += SCAN


def register(scan, reference, anchors=512):
    """How far the scan lies to the side of the reference, by the nearest points of some anchors."""
    picked = scan[torch.randperm(len(scan), device=scan.device)[:anchors]]
    shifts = []
    for part in picked.split(64):
        nearest = torch.cdist(part[:, :3], reference[:, :3]).argmin(dim=1)
        shifts.append(part[:, 1] - reference[nearest, 1])
    return torch.cat(shifts).median().item()


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    seam = Seam(device)
    cloud = Cloud(torch.randn(TAUGHT, FEATURES, device=device))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    lateral, scans = 0.0, 0
    while time.time() < end:
        started = time.time()
        scan = seam.scan(lateral)
        lateral += 0.3 * register(scan, cloud.recent())
        cloud.add(scan)
        scans += 1
        if scans % 20 == 0:
            print(f"scan {scans}: {cloud.count} points, torch at {lateral:.3f} mm", flush=True)
        time.sleep(max(0.0, PERIOD - (time.time() - started)))


if __name__ == "__main__":
    main()
