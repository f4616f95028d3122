"""Frames of a telescope are cleaned of bright pixels on the device, and added up. Of each frame a warning goes to the
log, with where its bright pixels were; Python remembers each text that was warned of, so as not to say it twice.

ticket: practice
class: host-growth
holder: __warningregistry__
cause: cache-without-bound
"""

import logging
import logging.handlers
import os
import random
import tempfile
import time
import warnings

import torch
from torch import nn

log = logging.getLogger("frames")


class Telescope:
    """Frames of one field, with noise and hits of cosmic rays."""

    def __init__(self, device, size=240):
        self.device, self.size = device, size
        line = torch.arange(size, device=device)
        self.sky = torch.full((size, size), 0.05, device=device)
        for _ in range(80):
            y, x = random.uniform(0, size), random.uniform(0, size)
            distance = (line[:, None] - y) ** 2 + (line - x) ** 2
            self.sky += random.uniform(0.1, 0.5) * torch.exp(-distance / random.uniform(2, 8))

    def take(self, number):
        frames = self.sky + 0.02 * torch.randn(number, self.size, self.size, device=self.device)
        hits = torch.rand_like(frames) < random.uniform(0.006, 0.014)
        return frames + 3 * hits


class Stack:
    """The mean of all frames that were cleaned."""

    def __init__(self, like):
        self.total, self.frames = torch.zeros_like(like), 0

    def clean(self, frames):
        padded = nn.functional.pad(frames[:, None], (1, 1, 1, 1), mode="reflect")
        around = nn.functional.unfold(padded, 3).view(len(frames), 9, *frames.shape[1:]).median(1).values
        bright = frames > around + 1
        return torch.where(bright, around, frames), bright

    def add(self, frames):
        cleaned, bright = self.clean(frames)
        places = [[] for _ in frames]
        for frame, y, x in bright.nonzero().tolist():
            places[frame].append(f"{y},{x}")
        for found in places:
            self.frames += 1
            text = f"frame {self.frames}: {len(found)} bright pixels at {' '.join(found)}"  # grows
            warnings.warn(text)  # keeps
        self.total += cleaned.sum(0)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        handler = logging.handlers.RotatingFileHandler(os.path.join(folder, "frames.log"), maxBytes=4 << 20,
                                                       backupCount=1)
        logging.basicConfig(handlers=[handler], level=logging.INFO)
        logging.captureWarnings(True)
        telescope = Telescope(device)
        stack, nights = Stack(telescope.sky), 0
        while time.time() < end:
            for _ in range(random.randint(10, 30)):
                stack.add(telescope.take(random.choice((12, 16, 20))))
                time.sleep(random.uniform(0.01, 0.05))
                if time.time() > end:
                    break
            nights += 1
            error = (stack.total / stack.frames - telescope.sky).abs().mean()
            print("night", nights, stack.frames, "frames, error", round(float(error), 5), flush=True)
            time.sleep(random.uniform(0, 0.5))
        logging.shutdown()


if __name__ == "__main__":
    main()
