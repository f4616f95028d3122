"""A robot picks peaches from trays. From the depth image of a tray a network tells how well the gripper would hold at
each place, and the arm goes for the best. If a peach slips, the log shows what was noted in the last few attempts,
down to the network's map.

ticket: practice
class: none
"""

import logging
import os
import random
import time
from collections import deque

import torch
from torch import nn

SIDE, SHOWN = 320, 9
log = logging.getLogger("gripper")


class FlightRecorder(logging.Handler):
    """Holds what is logged, and prints the last of it when there is an error."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.records = deque(maxlen=SHOWN)
        self.setFormatter(logging.Formatter("%(relativeCreated)8d %(levelname)s %(message)s"))

    def emit(self, record):
        self.records.append(record)
        if record.levelno >= logging.ERROR:
            for before in self.records:
                print(self.format(before), flush=True)


class Grasps(nn.Module):
    """Quality of the hold, by place and by angle of the gripper."""

    def __init__(self, angles=6):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 7, stride=4, padding=3),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, angles, 3, padding=1),
            nn.Upsample(scale_factor=4, mode="bilinear", align_corners=False),
        )

    def forward(self, depth):
        return self.layers(depth).sigmoid()


class Tray:
    def __init__(self, number, device):
        self.number = number
        rows = torch.arange(SIDE, device=device, dtype=torch.float32)
        self.depth = torch.full((SIDE, SIDE), 0.8, device=device)
        for _ in range(random.randint(5, 9)):
            top, left, radius = random.randrange(SIDE), random.randrange(SIDE), random.randint(18, 30)
            away = (rows[:, None] - top) ** 2 + (rows[None, :] - left) ** 2
            self.depth = torch.minimum(self.depth, 0.8 - (radius**2 - away).clamp(min=0).sqrt() / 100)


def attempt(model, tray):
    """Where the arm goes, at which angle, and whether the peach is held."""
    with torch.no_grad():
        quality, angles = model(tray.depth[None, None])[0].max(dim=0)
    quality = quality.cpu().numpy()
    row, column = divmod(int(quality.argmax()), SIDE)
    angle = int(angles[row, column])
    log.debug("tray %d: quality %s", tray.number, quality)
    log.info("tray %d: down at %d, %d, angle %d", tray.number, row, column, angle)
    held = random.random() > 0.04
    if not held:
        log.error("tray %d: the peach slipped", tray.number)
    return held


def main():
    torch.set_num_threads(1)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(FlightRecorder())
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, picked, number = Grasps().to(device).eval(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        picked += attempt(model, Tray(number, device))
        if number % 50 == 0:
            print(f"{picked} peaches from {number} trays", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
