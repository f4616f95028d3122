"""
Watch over the bisque firings of a pottery. A thermal camera looks through the spy hole of the kiln; the controller
compares the newest pictures with those of the last seconds to see whether the ware has soaked evenly, and opens or
closes the burner accordingly.

ticket: practice
class: none
"""
import os
import time
from collections import deque
from itertools import islice

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PICTURES_PER_SECOND = 12
ROWS, COLUMNS = 256, 512
HORIZON_S = 3.0
COMPARED = 18
SOAK_TEMPERATURE = 995.0


class SpyHoleCamera:
    """Heat picture of the shelves, in degrees."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.shelf_pattern = torch.linspace(-6.0, 6.0, ROWS, device=DEVICE).unsqueeze(1)

    def expose(self, kiln_temperature):
        picture = torch.randn(ROWS, COLUMNS, generator=self.generator, device=DEVICE)
        picture.mul_(1.5).add_(self.shelf_pattern).add_(kiln_temperature)
        return picture


class PictureWindow:
    """The pictures of the last seconds, oldest first."""

    def __init__(self, horizon_s):
        self.horizon_s = horizon_s
        self.frames = deque()

    def push(self, picture):
        now = time.monotonic()
        self.frames.append((now, picture))
        while now - self.frames[0][0] > self.horizon_s:
            self.frames.popleft()

    def newest(self, count):
        return [picture for _, picture in islice(reversed(self.frames), count)]


class Kiln:
    def __init__(self):
        self.temperature = 910.0
        self.burner = 0.5

    def advance(self, dt):
        gain = 60.0 * self.burner
        loss = 0.03 * (self.temperature - 20.0)
        self.temperature += dt * (gain - loss)


class SoakController:
    def __init__(self, kiln, camera, window):
        self.kiln = kiln
        self.camera = camera
        self.window = window
        self.evenness = 0.0
        self.drift = 0.0
        self.pictures = 0

    def step(self):
        self.kiln.advance(1.0 / PICTURES_PER_SECOND)
        self.window.push(self.camera.expose(self.kiln.temperature))
        self.pictures += 1
        recent = self.window.newest(COMPARED)
        self.evenness = float(recent[0].mean(dim=1).std())
        self.drift = float(recent[0].mean() - recent[-1].mean())
        shortfall = SOAK_TEMPERATURE - self.kiln.temperature
        self.kiln.burner = min(max(0.49 + 0.02 * shortfall - 0.01 * self.drift, 0.0), 1.0)


def report(controller):
    kiln = controller.kiln
    print(
        f"picture {controller.pictures}: {kiln.temperature:.1f} C, burner {kiln.burner:.2f}, "
        f"spread of the shelves {controller.evenness:.2f}, drift {controller.drift:+.2f}",
        flush=True,
    )


def main():
    controller = SoakController(Kiln(), SpyHoleCamera(seed=88), PictureWindow(HORIZON_S))
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        controller.step()
        if controller.pictures % (PICTURES_PER_SECOND * 5) == 0:
            report(controller)
        pause = start + controller.pictures / PICTURES_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"firing ends at {controller.kiln.temperature:.0f} C after {controller.pictures} pictures", flush=True)


if __name__ == "__main__":
    main()
