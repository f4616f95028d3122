"""Cameras in the bird hides of a reserve, and the desk that looks through their pictures.

Each hide sends a picture of the lagoon. The picture is set against the slow mean of that hide on the device, what
moved is brought back to the host while the next one is already worked on, and the desk notes how much of the
picture was astir.

ticket: practice
class: host-growth
holder: _returning
cause: pinned-kept
"""

import os
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ON_CUDA = DEVICE == "cuda"
SECONDS = float(os.environ.get("SECONDS", "120"))
PICTURES_PER_SECOND = 6
HIDES = ("reedbed", "scrape", "island", "sluice")
SIDE = 1024


class Return:
    """A mask on its way from the device to the host."""

    def __init__(self, hide, mask):
        self.hide = hide
        self.host = torch.empty(mask.shape, dtype=mask.dtype, pin_memory=ON_CUDA)  # grows
        self.host.copy_(mask, non_blocking=ON_CUDA)
        self.event = None
        if ON_CUDA:
            self.event = torch.cuda.Event()
            self.event.record()

    def here(self):
        return self.event is None or self.event.query()

    def share(self):
        return self.host[::8, ::8].float().mean().item()


class Hide:
    """The slow mean of one hide's view and the gain of its camera."""

    def __init__(self, name, generator):
        self.name = name
        self.mean = torch.rand(SIDE, SIDE, device=DEVICE, generator=generator)
        self.gain = torch.rand(SIDE, SIDE, device=DEVICE, generator=generator).mul_(0.1).add_(0.95)

    def moved(self, picture):
        even = picture * self.gain
        mask = ((even - self.mean).abs() > 0.55).to(torch.uint8)
        self.mean.lerp_(even, 0.05)
        return mask


class Lagoon:
    """Draws what the cameras see: water, light and birds that pass."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.water = torch.rand(SIDE, SIDE, device=DEVICE, generator=self.generator)

    def picture(self, number):
        seen = torch.roll(self.water, shifts=(number * 3) % SIDE, dims=1)
        row = (number * 37) % (SIDE - 64)
        seen[row : row + 64, row : row + 64] += 0.8
        return seen


class Desk:
    """Takes the masks in the order in which they were sent and notes the share of the view that moved."""

    def __init__(self):
        self._returning = []
        self._next = 0
        self.shares = {name: 0.0 for name in HIDES}
        self.noted = 0

    def expect(self, hide, mask):
        self._returning.append(Return(hide, mask))  # keeps

    def look_through(self):
        while self._next < len(self._returning) and self._returning[self._next].here():
            arrived = self._returning[self._next]
            self.shares[arrived.hide] += 0.2 * (arrived.share() - self.shares[arrived.hide])
            self.noted += 1
            self._next += 1

    def liveliest(self):
        return max(self.shares, key=self.shares.get)


def main():
    lagoon = Lagoon(seed=28)
    hides = [Hide(name, lagoon.generator) for name in HIDES]
    desk = Desk()
    start = time.monotonic()
    number = 0
    while time.monotonic() - start < SECONDS:
        began = time.monotonic()
        hide = hides[number % len(hides)]
        desk.expect(hide.name, hide.moved(lagoon.picture(number)))
        desk.look_through()
        number += 1
        if number % (3 * PICTURES_PER_SECOND) == 0:
            liveliest = desk.liveliest()
            print(
                f"picture {number}: {desk.noted} noted, liveliest hide {liveliest} with {desk.shares[liveliest]:.3f}",
                flush=True,
            )
        time.sleep(max(0.0, 1.0 / PICTURES_PER_SECOND - (time.monotonic() - began)))
    print(f"dusk after {number} pictures, {desk.noted} noted at the desk", flush=True)


if __name__ == "__main__":
    main()
