"""Cave tours: where the groups are, from the beacons of their headlamps.

Every group that enters the show cave gets an occupancy grid, which is sharpened with each fix of its beacons.
Most groups leave by the main gate; some are led out by the side adit when the main passage is crowded. From
time to time the survey office loads the scan of the whole cave and corrects the beacon model with it.

ticket: practice
class: app-leak
holder: grids
cause: entries-left
"""
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FIXES_A_SECOND = 8
GRID = (384, 512)
STAY = 16
SCAN_EVERY = 8.0
SCAN_FOR = 3.0
SCAN_SECTIONS = 12
SECTION_POINTS = 25 * 1024 * 1024 // 4


class CaveScan:
    """Point heights of the whole cave, loaded for a correction and put away after it."""

    def __init__(self):
        self.sections = []
        self.loads = 0

    def load(self):
        self.loads += 1
        for section in range(SCAN_SECTIONS):
            self.sections.append(torch.full((SECTION_POINTS,), 1.0 + 0.01 * section, device=DEVICE))

    def put_away(self):
        self.sections.clear()

    def correction(self):
        if not self.sections:
            return 1.0
        return float(sum(section[::4096].mean() for section in self.sections)) / len(self.sections)

    def follow(self, elapsed):
        wanted = elapsed % SCAN_EVERY >= SCAN_EVERY - SCAN_FOR
        if wanted and not self.sections:
            self.load()
        elif not wanted and self.sections:
            self.put_away()


class Group:
    def __init__(self, number, entered):
        self.number = number
        self.entered = entered
        self.by_adit = number % 2 == 1


class BeaconTracker:
    """Occupancy grids of the groups underground, by group number."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.noise = torch.rand(8, *GRID, device=DEVICE, generator=self.generator)
        self.grids = {}

    def enter(self, group):
        self.grids[group.number] = torch.full(GRID, 0.5, device=DEVICE)  # grows keeps

    def fix(self, group, tick, gain):
        grid = self.grids[group.number]
        grid.lerp_(self.noise[(group.number + tick) % 8], 0.1 * gain)

    def depth(self, group):
        return float(self.grids[group.number].amax())

    def leave(self, group):
        self.grids.pop(group.number)


class TourDesk:
    """Sends groups in, follows them and sees them out."""

    def __init__(self, tracker, scan):
        self.tracker = tracker
        self.scan = scan
        self.underground = []
        self.tick = 0
        self.by_gate = 0
        self.by_adit = 0

    def see_out(self, group):
        depth = self.tracker.depth(group)
        if group.by_adit:
            self.by_adit += 1
        else:
            self.by_gate += 1
            self.tracker.leave(group)
        return depth

    def round(self):
        self.tick += 1
        group = Group(self.tick, self.tick)
        self.tracker.enter(group)
        self.underground.append(group)
        gain = min(1.2, self.scan.correction())
        for present in self.underground:
            self.tracker.fix(present, self.tick, gain)
        done = [present for present in self.underground if self.tick - present.entered >= STAY]
        self.underground = [present for present in self.underground if self.tick - present.entered < STAY]
        return [self.see_out(present) for present in done]


def main():
    torch.set_num_threads(1)
    desk = TourDesk(BeaconTracker(9), CaveScan())
    start = time.monotonic()
    due, next_print = start, start + 2.0
    while (elapsed := time.monotonic() - start) < SECONDS:
        desk.scan.follow(elapsed)
        depths = desk.round()
        if time.monotonic() >= next_print:
            next_print += 2.0
            print(f"{len(desk.underground)} groups underground, {desk.by_gate} out by the gate, {desk.by_adit} by the "
                  f"adit, {desk.scan.loads} scans, last depth {max(depths, default=0.0):.3f}", flush=True)
        due += 1.0 / FIXES_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"cave closed after {desk.tick} groups", flush=True)


if __name__ == "__main__":
    main()
