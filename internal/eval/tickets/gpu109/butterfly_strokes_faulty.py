"""Two cameras film a swimmer in the butterfly: one from the poolside, one through a window under water.

Each picture is turned into a map of how the water moves round the swimmer, and the trainer gets the rhythm of the
stroke from it. The maps are noted as records, and every few seconds those noted are written out to the film store,
sorted by the camera that took them.

ticket: practice
class: host-growth
holder: _records
cause: results-kept buffer-without-bound
"""

import os
import tempfile
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CAMERAS = ("poolside", "underwater")
PICTURE = (256, 384)
PICTURES_A_SECOND = 6
WRITE_EVERY = 12.0
STROKE_SECONDS = 1.2


@dataclass
class Record:
    camera: str
    at: float
    motion: np.ndarray


class WaterMotion(nn.Module):
    """From two pictures that follow each other to the motion of the water."""

    def __init__(self):
        super().__init__()
        kernel = torch.tensor([[1.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-1.0, -2.0, -1.0]])
        self.register_buffer("edges", torch.stack([kernel, kernel.t()])[:, None])
        self.smooth = nn.AvgPool2d(5, stride=1, padding=2)

    @torch.no_grad()
    def forward(self, before, after):
        change = (after - before)[None, None]
        slopes = nn.functional.conv2d(after[None, None], self.edges, padding=1)
        return self.smooth(change * slopes.norm(dim=1, keepdim=True))[0, 0]


class Camera:
    """A camera at the lane; its pictures show the swimmer as a wave over noise."""

    def __init__(self, name, seed):
        self.name = name
        self._noise = torch.Generator(device=DEVICE).manual_seed(seed)
        self._columns = torch.linspace(0.0, 12.0, PICTURE[1], device=DEVICE)
        self._before = torch.zeros(PICTURE, device=DEVICE)

    def film(self, at):
        """The picture before and the picture of now."""
        wave = torch.sin(self._columns - 2 * torch.pi * at / STROKE_SECONDS)
        before = self._before
        self._before = 0.2 * torch.randn(PICTURE, generator=self._noise, device=DEVICE) + wave
        return before, self._before


class FilmStore:
    """The records noted since the last writing, and the file to which they go."""

    def __init__(self, file):
        self._file = file
        self._records = []
        self.writings = 0

    def note(self, camera, at, motion):
        motion = np.array(motion.cpu())  # grows
        self._records.append(Record(camera, at, motion))  # keeps

    def write_out(self):
        self._file.seek(0)
        self._file.truncate()
        for camera in CAMERAS:
            for record in self._of(camera):
                self._file.write(record.motion.astype(np.float16).tobytes())
        self._records = [record for record in self._records if record.camera != camera]
        self._file.flush()
        self.writings += 1
        return self._file.tell()

    def _of(self, camera):
        return [record for record in self._records if record.camera == camera]

    def rhythm(self):
        """How strongly the newest records swing about their mean."""
        swings = [float(np.abs(record.motion).mean()) for record in self._records[-14:]]
        return max(swings) - min(swings) if swings else 0.0


def main():
    torch.set_num_threads(1)
    torch.manual_seed(91)
    motion = WaterMotion().to(DEVICE)
    cameras = [Camera(name, seed) for seed, name in enumerate(CAMERAS, start=92)]
    with tempfile.TemporaryFile() as file:
        store = FilmStore(file)
        start = time.monotonic()
        next_writing = start + WRITE_EVERY
        next_line = start + 4.0
        pictures = 0
        while time.monotonic() - start < SECONDS:
            begun = time.monotonic()
            for camera in cameras:
                store.note(camera.name, begun - start, motion(*camera.film(begun - start)))
            pictures += 1
            if begun >= next_line:
                next_line += 4.0
                print(f"{pictures} pictures, rhythm {store.rhythm():.4f}", flush=True)
            if begun >= next_writing:
                next_writing += WRITE_EVERY
                print(f"writing {store.writings}: {store.write_out() / 1e6:.1f} MB to the film store", flush=True)
            time.sleep(max(0.01, 1.0 / PICTURES_A_SECOND - (time.monotonic() - begun)))
    print(f"training over: {pictures} pictures, {store.writings} writings", flush=True)


if __name__ == "__main__":
    main()
