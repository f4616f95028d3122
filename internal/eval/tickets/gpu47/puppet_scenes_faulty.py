"""A puppet theatre on two stages: a small network poses the puppet for each scene, another lights it. The time of each
part is measured by spans, which nest: the span that is open is in a context variable, so that each stage has its own,
and its time is taken off the one around it. A slow span prints what was noted in it.

ticket: practice
class: app-leak
holder: Context current_span Span parent notes
cause: results-kept buffer-without-bound
"""

import asyncio
import os
import random
import time
from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import nn

JOINTS, SIZE, SLOW = 24, 256, 2.0

current_span = ContextVar("current_span", default=None)
totals = Counter()


class Span:
    def __init__(self, name, parent):
        self.name, self.parent = name, parent
        self.start, self.inner = time.perf_counter(), 0.0
        self.notes = {}

    def close(self):
        seconds = time.perf_counter() - self.start
        totals[self.name] += seconds - self.inner
        if self.parent is not None:
            self.parent.inner += seconds
        if seconds > SLOW:
            print("slow:", self.name, {key: tuple(value.shape) for key, value in self.notes.items()}, flush=True)


@contextmanager
def span(name):
    opened = Span(name, current_span.get())
    current_span.set(opened)  # keeps
    try:
        yield opened
    finally:
        opened.close()


class Poser(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, JOINTS * 2), nn.Sigmoid())

    def forward(self, mood):
        return self.layers(mood).view(JOINTS, 2)


class Lamp(nn.Module):
    """Draws a soft spot at each joint, and colours the sum."""

    def __init__(self):
        super().__init__()
        grid = torch.linspace(0, 1, SIZE)
        self.register_buffer("rows", grid[:, None])
        self.register_buffer("columns", grid[None, :])
        self.colour = nn.Conv2d(1, 3, 5, padding=2)

    def forward(self, pose):
        far = (self.rows - pose[:, 0, None, None]) ** 2 + (self.columns - pose[:, 1, None, None]) ** 2
        return self.colour(torch.exp(-far * 200).sum(0)[None, None])


async def stage(name, poser, lamp, device, end):
    scenes, light = 0, 0.0
    while time.time() < end:
        with span("scene"):
            with span("pose") as opened:
                pose = poser(torch.randn(16, device=device))  # grows
                opened.notes["pose"] = pose
            with span("light") as opened:
                image = lamp(pose)  # grows
                opened.notes["image"] = image
                light += image.mean().item()
            await asyncio.sleep(random.uniform(0.1, 0.3))
        scenes += 1
        if scenes % 10 == 0:
            shares = ", ".join(f"{part} {seconds:.2f} s" for part, seconds in sorted(totals.items()))
            print(f"{name} stage: {scenes} scenes, light {light / scenes:.3f}; {shares}", flush=True)


async def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    poser, lamp = Poser().to(device).eval(), Lamp().to(device).eval()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*(stage(name, poser, lamp, device, end) for name in ("left", "right")))


if __name__ == "__main__":
    asyncio.run(main())
