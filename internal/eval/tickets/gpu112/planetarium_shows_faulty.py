"""Show renderer of a small planetarium.

Each show warps the star chart of its evening into the fisheye picture of the dome, frame by frame, while the chart
slowly turns. The shows are rendered on lanes of their own beside the main stream, so that the projector's upload is
never held up. A lane wraps a stream of the CUDA runtime.

ticket: practice
class: pool-growth
holder: -
cause: pool-for-each-stream
"""
import contextlib
import ctypes
import math
import os
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

CHART = 768
DOME = 1024 if DEVICE == "cuda" else 256
STARS = 4000
FRAMES_PER_SHOW = 8
FRAMES_PER_SECOND = 7
DOMES = ("north", "south")


class Lane:
    """A stream of the CUDA runtime for the pictures of one dome."""

    def __init__(self):
        self.stream = None
        if DEVICE == "cuda":
            torch.cuda.init()
            handle = ctypes.c_void_p(0)
            status = torch.cuda.cudart().cudaStreamCreate(ctypes.addressof(handle))
            if int(status) != 0:
                raise RuntimeError(f"no stream for the lane: {status}")
            self.stream = torch.cuda.ExternalStream(handle.value)

    def enter(self):
        return contextlib.nullcontext() if self.stream is None else torch.cuda.stream(self.stream)

    def finish(self):
        if self.stream is not None:
            self.stream.synchronize()


class StarCharts:
    """Charts of the evenings, drawn once at the start."""

    def __init__(self, evenings, seed):
        generator = torch.Generator().manual_seed(seed)
        self.charts = [self._draw(generator) for _ in range(evenings)]

    @staticmethod
    def _draw(generator):
        chart = torch.zeros(3, CHART * CHART)
        places = torch.randint(0, CHART * CHART, (STARS,), generator=generator)
        chart[:, places] = torch.rand(3, STARS, generator=generator).pow(3)
        return chart.view(1, 3, CHART, CHART).to(DEVICE)

    def of(self, show):
        return self.charts[show % len(self.charts)]


class Fisheye:
    """Grid that maps the pixels of the dome to the chart, for a ring of angles."""

    def __init__(self, steps):
        axis = torch.linspace(-1.0, 1.0, DOME, device=DEVICE)
        y, x = torch.meshgrid(axis, axis, indexing="ij")
        radius = (x * x + y * y).sqrt()
        bend = torch.sin(radius.clamp(max=1.0) * math.pi / 2) / radius.clamp(min=1e-4)
        self.inside = (radius <= 1.0).float()
        self.grids = []
        for step in range(steps):
            angle = 2 * math.pi * step / (steps * 12)
            across = (x * math.cos(angle) - y * math.sin(angle)) * bend
            down = (x * math.sin(angle) + y * math.cos(angle)) * bend
            self.grids.append(torch.stack((across, down), -1).unsqueeze(0))


class ShowRoom:
    """Runs the shows of all domes in turn and keeps the brightness of the last frame."""

    def __init__(self, seed=23):
        self.charts = StarCharts(6, seed)
        self.fisheye = Fisheye(FRAMES_PER_SHOW)
        self.lanes = {dome: Lane() for dome in DOMES}
        self.brightness = dict.fromkeys(DOMES, 0.0)
        self.shows = 0
        self.frames = 0
        if DEVICE == "cuda":
            torch.cuda.synchronize()

    def begin(self, dome):
        """Make the lane of a dome ready for its next show."""
        self.shows += 1
        self.lanes[dome] = Lane()  # keeps
        self.lanes[dome].finish()
        return self.charts.of(self.shows)

    def frame(self, dome, chart, step):
        lane = self.lanes[dome]
        with lane.enter():
            picture = F.grid_sample(chart, self.fisheye.grids[step], align_corners=False)  # grows
            picture.mul_(self.fisheye.inside).clamp_(0.0, 1.0)
            level = picture.sum()
        lane.finish()
        self.brightness[dome] = level.item() / (3 * DOME * DOME)
        self.frames += 1

    def play(self, dome, until):
        chart = self.begin(dome)
        for step in range(FRAMES_PER_SHOW):
            started = time.monotonic()
            if started >= until:
                return
            self.frame(dome, chart, step)
            time.sleep(max(0.005, 1.0 / FRAMES_PER_SECOND - (time.monotonic() - started)))


def main():
    room = ShowRoom()
    until = time.monotonic() + SECONDS
    next_print = time.monotonic() + 3.0
    while time.monotonic() < until:
        for dome in DOMES:
            room.play(dome, until)
        if time.monotonic() >= next_print:
            levels = "  ".join(f"{dome} {level:.5f}" for dome, level in room.brightness.items())
            print(f"shows {room.shows}  frames {room.frames}  brightness {levels}", flush=True)
            next_print = time.monotonic() + 3.0
    print(f"evening over: {room.shows} shows, {room.frames} frames", flush=True)


if __name__ == "__main__":
    main()
