"""Sorting line of a mushroom farm.

Trays come from the picking robots, are measured by a depth camera, run along the belt for a second and are then graded:
good trays go to the packers, the others to the compost. Above the beds a gantry camera takes frames for five seconds at
a time, lays them over each other to one map of the caps, and starts on the next stretch.

ticket: practice
class: none
"""
import collections
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 10
TRAYS_A_ROUND = 2
BELT_TRAYS = TRAYS_A_ROUND * ROUNDS_A_SECOND
DEPTH_SHAPE = (240, 320)
STRETCH_FRAMES = 5 * ROUNDS_A_SECOND
FRAME_SHAPE = (1024, 2048)


class Tray:
    """A tray on the line: where it was picked and its depth profile in millimetres."""

    def __init__(self, number, bed, profile):
        self.number = number
        self.bed = bed
        self.profile = profile

    def fill(self):
        """Mean height of the caps and the share of the tray they cover."""
        caps = self.profile > 12.0
        return self.profile.mean().item(), caps.float().mean().item()


class DepthCamera:
    def __init__(self):
        self.floor = 10.0 + torch.rand(DEPTH_SHAPE, device=DEVICE)

    def measure(self, fill):
        return self.floor + fill * torch.rand(DEPTH_SHAPE, device=DEVICE)


class SortingLine:
    def __init__(self, rng):
        self.rng = rng
        self.camera = DepthCamera()
        self.trays = {}
        self.belt = collections.deque()
        self.numbers = 0
        self.packed_mm = 0.0
        self.packed = 0
        self.composted = collections.Counter()

    def admit(self):
        """Measures a tray and puts it on the belt."""
        self.numbers += 1
        fill = self.rng.choice((1.5, 9.0))
        tray = Tray(self.numbers, self.rng.randrange(12), self.camera.measure(fill))
        self.trays[tray.number] = tray
        self.belt.append(tray.number)

    def pack(self, number, height):
        self.trays.pop(number)
        self.packed += 1
        self.packed_mm += height

    def compost(self, number):
        tray = self.trays.pop(number)
        self.composted[tray.bed] += 1

    def grade(self):
        """Grades the trays that have reached the end of the belt."""
        while len(self.belt) > BELT_TRAYS:
            number = self.belt.popleft()
            height, cover = self.trays[number].fill()
            if cover > 0.5:
                self.pack(number, height)
            else:
                self.compost(number)


class Gantry:
    """Takes the frames of one stretch of the beds and lays them over each other."""

    def __init__(self):
        self.stretch = []
        self.maps = 0

    def shoot(self):
        self.stretch.append(torch.rand(FRAME_SHAPE, device=DEVICE))
        if len(self.stretch) == STRETCH_FRAMES:
            return self.finish()
        return None

    def finish(self):
        """Caps per stretch, counted on the brightest value of every point."""
        brightest = self.stretch[0].clone()
        for frame in self.stretch[10::10]:
            torch.maximum(brightest, frame, out=brightest)
        self.stretch.clear()
        self.maps += 1
        return int((brightest > 0.999).sum())


def main():
    torch.manual_seed(1707)
    torch.set_num_threads(1)
    line, gantry = SortingLine(random.Random(1707)), Gantry()
    rounds = 0
    start = due = time.monotonic()
    while time.monotonic() - start < SECONDS:
        for _ in range(TRAYS_A_ROUND):
            line.admit()
        line.grade()
        caps = gantry.shoot()
        if caps is not None:
            height = line.packed_mm / max(1, line.packed)
            print(f"map {gantry.maps}: {caps} caps; {line.packed} trays packed at {height:.1f} mm, "
                  f"{sum(line.composted.values())} to the compost", flush=True)
        rounds += 1
        due = max(due + 1 / ROUNDS_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"line stopped after {line.numbers} trays, {line.packed} of them packed", flush=True)


if __name__ == "__main__":
    main()
