"""Night survey of street lighting from a van with a luminance camera.

The van passes lamp posts along a route. Each frame of the roof camera is calibrated to candela per square metre and
joins the glare statistics of the last few seconds. Posts whose glare looks odd get a case with a close-up patch; an
inspector rules on every case some two seconds later: the post is either sent for repair or the case is dismissed.

ticket: practice
class: none
"""
import heapq
import os
import random
import time
from collections import deque
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 0.1
FRAME = (320, 512)
PATCH = (384, 410)
WINDOW = 50
RULING_DELAY = 2.0


@dataclass
class Case:
    number: int
    post: str
    opened: float
    patch: torch.Tensor

    def threshold_increment(self):
        """Veiling luminance of the patch against its own background, in percent."""
        background = self.patch.median()
        veil = self.patch.clamp(min=0).pow(0.8).mean()
        return float(65.0 * veil / (background.abs() + 1.0))


class RoofCamera:
    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.gain = torch.linspace(0.9, 1.1, FRAME[1], device=DEVICE)

    def frame(self):
        raw = torch.rand(FRAME, generator=self.generator, device=DEVICE)
        return raw * self.gain

    def close_up(self, tilt):
        return torch.rand(PATCH, generator=self.generator, device=DEVICE) * tilt


class GlareWindow:
    """The frames of the last few seconds, for the adaptation luminance."""

    def __init__(self, size):
        self.frames = deque(maxlen=size)

    def add(self, frame):
        self.frames.append(frame)

    def adaptation(self):
        newest = list(self.frames)[-5:]
        return float(torch.stack(newest).mean())


class CaseDesk:
    def __init__(self, seed):
        self._cases = {}
        self._agenda = []
        self._rng = random.Random(seed)
        self.numbers = 0
        self.repairs = 0
        self.dismissals = 0
        self.worst = 0.0

    def open(self, post, patch, now):
        self.numbers += 1
        case = Case(self.numbers, post, now, patch)
        self._cases[case.number] = case
        heapq.heappush(self._agenda, (now + RULING_DELAY, case.number))
        return case

    def order_repair(self, number):
        case = self._cases.pop(number)
        self.worst = max(self.worst, case.threshold_increment())
        self.repairs += 1

    def dismiss(self, number):
        case = self._cases.pop(number)
        self.worst = max(self.worst, case.threshold_increment())
        self.dismissals += 1

    def rule(self, now):
        while self._agenda and self._agenda[0][0] <= now:
            _, number = heapq.heappop(self._agenda)
            if self._rng.random() < 0.5:
                self.order_repair(number)
            else:
                self.dismiss(number)


def main():
    torch.set_num_threads(1)
    rng = random.Random(17)
    camera = RoofCamera(seed=4)
    window = GlareWindow(WINDOW)
    desk = CaseDesk(seed=9)
    start = time.monotonic()
    rounds = 0
    next_print = 3.0
    while time.monotonic() - start < SECONDS:
        now = time.monotonic() - start
        window.add(camera.frame())
        for side in ("left", "right"):
            post = f"{side}-{rng.randrange(4000):04d}"
            desk.open(post, camera.close_up(rng.uniform(0.7, 1.6)), now)
        desk.rule(now)
        rounds += 1
        if now >= next_print:
            print(f"{now:5.1f} s adaptation {window.adaptation():.3f} repairs {desk.repairs} "
                  f"dismissed {desk.dismissals} worst {desk.worst:.1f} %", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"route done: {rounds} frames, {desk.repairs} repairs, {desk.dismissals} dismissed", flush=True)


if __name__ == "__main__":
    main()
