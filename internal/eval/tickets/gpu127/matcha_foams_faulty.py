"""Foam judging at the counter of a tea house.

Every bowl of matcha passes under a small camera. A network on the accelerator separates fine foam from large
bubbles and returns a map, which lies on the bench until the bowl is either carried to the guest or sent back
to be whisked again; a bowl that comes back from the whisk counts as a new one.

ticket: practice
class: host-growth
holder: _bench
cause: entries-left
"""
import os
import random
import time
from collections import deque

import numpy as np
import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
BOWLS_PER_SECOND = 10
PIXELS = 512
BENCH_PLACES = 6
COARSE_SHARE = 0.6


class FoamNetwork(nn.Module):
    """Turns a picture of a bowl into a map of bubble sizes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(4, 1, 3, padding=1),
            nn.Upsample(scale_factor=2),
            nn.Sigmoid(),
        )

    def forward(self, picture: torch.Tensor) -> torch.Tensor:
        return self.layers(picture)


class CounterCamera:
    """Pictures of bowls, put together from a stock of foam textures."""

    def __init__(self, seed: int):
        self._generator = torch.Generator().manual_seed(seed)
        self._textures = torch.rand(24, PIXELS, PIXELS, generator=self._generator).to(DEVICE)

    def shoot(self, bowl: int) -> torch.Tensor:
        first, second = torch.randint(24, (2,), generator=self._generator).tolist()
        return (0.7 * self._textures[first] + 0.3 * self._textures[second])[None, None]


class FoamBench:
    """The bowls between whisk and guest, with their maps."""

    def __init__(self, seed: int):
        torch.manual_seed(seed)
        self.network = FoamNetwork().to(DEVICE).eval()
        self._bench: dict[int, np.ndarray] = {}
        self._order: deque[int] = deque()
        self._palate = random.Random(seed)
        self.carried = 0
        self.whisked_again = 0
        self.fineness = 0.0
        self.bubbles = 0.0

    @torch.no_grad()
    def place(self, bowl: int, picture: torch.Tensor) -> None:
        sizes = self.network(picture)[0, 0].cpu()
        self._bench[bowl] = np.array(sizes.numpy(), dtype=np.float32)  # grows keeps
        self._order.append(bowl)

    def judge_next(self) -> None:
        if len(self._order) < BENCH_PLACES:
            return
        bowl = self._order.popleft()
        if self._too_coarse(bowl):
            self._send_back(bowl)
        else:
            self._carry(bowl)

    def _too_coarse(self, bowl: int) -> bool:
        sizes = self._bench[bowl]
        bubbles = float(sizes[::8, ::8].std())
        self.bubbles = 0.9 * self.bubbles + 0.1 * bubbles
        return self._palate.random() < COARSE_SHARE

    def _carry(self, bowl: int) -> None:
        sizes = self._bench.pop(bowl)
        self.fineness = 0.9 * self.fineness + 0.1 * float(1.0 - sizes.mean())
        self.carried += 1

    def _send_back(self, bowl: int) -> None:
        sizes = self._bench[bowl]
        self.fineness = 0.95 * self.fineness + 0.05 * float(1.0 - sizes.max())
        self.whisked_again += 1

    def report(self) -> str:
        return (f"{self.carried} bowls carried, {self.whisked_again} whisked again, "
                f"fineness {self.fineness:.3f}, bubbles {self.bubbles:.4f}")


def main() -> None:
    torch.set_num_threads(1)
    camera = CounterCamera(seed=61)
    bench = FoamBench(seed=62)
    started = time.monotonic()
    due = started
    next_report = started + 3.0
    bowl = 0
    while time.monotonic() - started < SECONDS:
        bench.place(bowl, camera.shoot(bowl))
        bench.judge_next()
        bowl += 1
        if time.monotonic() >= next_report:
            print(bench.report(), flush=True)
            next_report += 3.0
        due += 1.0 / BOWLS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"counter closed: {bench.report()}", flush=True)


if __name__ == "__main__":
    main()
