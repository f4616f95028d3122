"""Watching the withering troughs of a tea factory.

Fresh leaf lies in long troughs while air from below takes out its water. Cameras above the troughs
take a picture in turn, and an appraiser working beside them estimates how limp the leaf is and
turns the fans up or down. The foreman gets a line every few seconds.

ticket: practice
class: none
"""
import os
import queue
import threading
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
TROUGHS = 6
HEIGHT, WIDTH = 384, 512
PICTURES_PER_SECOND = 12
SETTLE = 0.2


@dataclass
class Picture:
    trough: int
    taken: float
    pixels: torch.Tensor


class Camera:
    """Takes the pictures of one trough; its leaf loses water as time passes."""

    def __init__(self, trough, seed):
        self.trough = trough
        self.generator = torch.Generator().manual_seed(seed)
        self.weave = torch.rand(HEIGHT, WIDTH, generator=self.generator).to(DEVICE)
        self.moisture = 0.78

    def take(self):
        self.moisture = max(0.55, self.moisture - 0.0004)
        sun = 0.8 + 0.2 * float(torch.rand((), generator=self.generator))
        pixels = torch.lerp(self.weave, self.weave.roll(3, dims=1), self.moisture) * sun
        return Picture(self.trough, time.monotonic(), pixels)


class Appraiser(threading.Thread):
    """Judges the pictures one by one and sets the fans."""

    def __init__(self):
        super().__init__(name="appraiser", daemon=True)
        self._pictures = queue.Queue(maxsize=2 * TROUGHS)
        self._closing = threading.Event()
        self.fans = [0.5] * TROUGHS
        self.judged = 0

    def submit(self, picture):
        self._pictures.put(picture)

    def close(self):
        self._closing.set()
        self.join(timeout=5.0)

    def run(self):
        while not self._closing.is_set():
            try:
                picture = self._pictures.get(timeout=0.1)
            except queue.Empty:
                continue
            self._set_fan(picture.trough, self._limpness(picture.pixels))
            self.judged += 1
            del picture
            # The damper of a fan needs a moment before the next one may move.
            self._closing.wait(SETTLE)

    @staticmethod
    def _limpness(pixels):
        coarse = F.avg_pool2d(pixels[None, None], 8)
        ripple = (coarse[..., 1:] - coarse[..., :-1]).abs().mean()
        return float(1.0 - ripple / (coarse.mean() + 1e-6))

    def _set_fan(self, trough, limpness):
        target = min(1.0, max(0.1, 1.4 - limpness))
        self.fans[trough] += 0.2 * (target - self.fans[trough])


class WitheringLoft:
    def __init__(self):
        self.cameras = [Camera(trough, seed=300 + trough) for trough in range(TROUGHS)]
        self.appraiser = Appraiser()
        self.taken = 0

    def open(self):
        self.appraiser.start()

    def picture_next(self):
        camera = self.cameras[self.taken % TROUGHS]
        self.appraiser.submit(camera.take())
        self.taken += 1

    def report(self):
        fans = " ".join(f"{fan:.2f}" for fan in self.appraiser.fans)
        driest = min(camera.moisture for camera in self.cameras)
        return f"{self.appraiser.judged} judged, driest {driest:.3f}, fans {fans}"


def main():
    loft = WitheringLoft()
    loft.open()
    start = time.monotonic()
    next_line = start + 3.0
    while time.monotonic() - start < SECONDS:
        loft.picture_next()
        if time.monotonic() >= next_line:
            next_line += 3.0
            print(loft.report(), flush=True)
        time.sleep(1.0 / PICTURES_PER_SECOND)
    loft.appraiser.close()
    print("leaf goes to the rollers:", loft.report(), flush=True)


if __name__ == "__main__":
    main()
