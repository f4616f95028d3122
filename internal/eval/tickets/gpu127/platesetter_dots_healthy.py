"""Dot inspection behind the platesetter of a print shop.

Every exposed plate is photographed by a line camera; the halftone on the photograph is compared with the
screen that the workflow asked for. The inspector measures the dot gain over the whole plate and prints,
for each stack of plates that leaves for the press room, which plate is the furthest from its target.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
PLATE_HEIGHT, PLATE_WIDTH = 384, 512
STACK = 24
SCREEN_LIBRARY = 40


@dataclass
class PlateReading:
    """What the camera found on one plate."""

    number: int
    screen: int
    gain: torch.Tensor
    spread: float


class ScreenLibrary:
    """Halftone screens of the shop, one for each combination of angle and ruling."""

    def __init__(self, generator: torch.Generator):
        rows = torch.arange(PLATE_HEIGHT, device=DEVICE, dtype=torch.float32)[:, None]
        columns = torch.arange(PLATE_WIDTH, device=DEVICE, dtype=torch.float32)[None, :]
        angles = torch.rand(SCREEN_LIBRARY, generator=generator) * 1.4
        rulings = 0.3 + torch.rand(SCREEN_LIBRARY, generator=generator) * 0.6
        self.screens = torch.empty(SCREEN_LIBRARY, PLATE_HEIGHT, PLATE_WIDTH, device=DEVICE)
        for index, (angle, ruling) in enumerate(zip(angles.tolist(), rulings.tolist())):
            along = rows * torch.tensor(angle).cos().item() + columns * torch.tensor(angle).sin().item()
            across = columns * torch.tensor(angle).cos().item() - rows * torch.tensor(angle).sin().item()
            self.screens[index] = 0.5 + 0.25 * (torch.cos(along * ruling) + torch.cos(across * ruling))

    def target(self, index: int) -> torch.Tensor:
        return self.screens[index]


class LineCamera:
    """Imitates the camera: a blurred screen with uneven laser power and noise."""

    def __init__(self, seed: int):
        self._generator = torch.Generator(device=DEVICE)
        self._generator.manual_seed(seed)
        self._kernel = torch.full((1, 1, 3, 3), 1.0 / 9.0, device=DEVICE)

    def photograph(self, screen: torch.Tensor) -> torch.Tensor:
        blurred = F.conv2d(screen[None, None], self._kernel, padding=1)[0, 0]
        noise = torch.randn(screen.shape, generator=self._generator, device=DEVICE)
        power = torch.rand(PLATE_WIDTH, generator=self._generator, device=DEVICE) * 0.05
        return (blurred * (1.0 + power) + 0.02 * noise).clamp_(0.0, 1.0)


class PlateInspector:
    """Measures plates and sums up each stack."""

    def __init__(self, library: ScreenLibrary):
        self.library = library
        self.plates: list[PlateReading] = []
        self.inspected = 0
        self.rejected = 0

    def inspect(self, screen: int, photograph: torch.Tensor) -> PlateReading:
        target = self.library.target(screen)
        gain = torch.sub(photograph, target)
        reading = PlateReading(self.inspected, screen, gain, gain.std().item())
        self.inspected += 1
        self.plates.append(reading)
        return reading

    def stack_complete(self) -> bool:
        return self.inspected % STACK == 0

    def sum_up(self) -> str:
        stack = self.plates[-STACK:]
        worst = max(stack, key=lambda reading: reading.spread)
        low, high = self._bands(worst.gain)
        self.rejected += sum(reading.spread > 0.2 for reading in stack)
        self.plates.clear()
        return (f"plate {worst.number} on screen {worst.screen} is the furthest off: "
                f"spread {worst.spread:.4f}, bands {low:+.4f} to {high:+.4f}")

    @staticmethod
    def _bands(gain: torch.Tensor) -> tuple[float, float]:
        columns = gain.mean(dim=0)
        return columns.min().item(), columns.max().item()


def main() -> None:
    torch.set_num_threads(1)
    chooser = torch.Generator().manual_seed(31)
    library = ScreenLibrary(chooser)
    camera = LineCamera(seed=32)
    inspector = PlateInspector(library)
    started = time.monotonic()
    due = started
    while time.monotonic() - started < SECONDS:
        screen = int(torch.randint(SCREEN_LIBRARY, (1,), generator=chooser))
        inspector.inspect(screen, camera.photograph(library.target(screen)))
        if inspector.stack_complete():
            print(f"stack {inspector.inspected // STACK}: {inspector.sum_up()}", flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"{inspector.inspected} plates inspected, {inspector.rejected} rejected", flush=True)


if __name__ == "__main__":
    main()
