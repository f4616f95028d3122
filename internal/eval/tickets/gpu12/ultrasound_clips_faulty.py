"""Clips of the beating heart come from ultrasound machines, and it is measured how much blood a beat drives out. They
go to the device from pinned memory, so that a copy runs beside the work on the clip before; as a buffer must not go
while its copy is still under way, the buffer and the event of its copy are listed.

ticket: practice
class: host-growth
holder: in_flight
cause: pinned-kept buffer-without-bound
"""

import argparse
import os
import queue
import threading
import time

import numpy as np
import torch
from torch import nn

SIDE, LENGTHS = 144, (32, 48, 64)


def clip(numbers, frames):
    """A bright ring that grows and shrinks."""
    line = np.linspace(-1, 1, SIDE, dtype=np.float32)
    far = np.sqrt(line[None, :] ** 2 + line[:, None] ** 2)
    beat, strong = numbers.uniform(0.15, 0.4), numbers.uniform(0.05, 0.25)
    radius = 0.5 + strong * np.sin(beat * np.arange(frames, dtype=np.float32))
    ring = np.exp(-((far - radius[:, None, None]) / 0.08) ** 2)
    speckle = numbers.random((8, SIDE, SIDE), np.float32)[np.arange(frames) % 8]
    return np.clip(255 * ring * speckle, 0, 255).astype(np.uint8)


def machines(waiting, stop, rate):
    """Puts clips into the line until told to stop."""
    numbers = np.random.default_rng()
    while not stop.is_set():
        try:
            waiting.put(clip(numbers, int(numbers.choice(LENGTHS))), timeout=0.5)
        except queue.Full:
            continue
        time.sleep(numbers.exponential(1 / rate))


class Uploader:
    def __init__(self, device):
        self.device, self.pinned = device, device == "cuda"
        self.stream = torch.cuda.Stream() if self.pinned else None
        self.in_flight = []

    def send(self, frames):
        """The frames on the device; the stream of the caller waits until they are there."""
        buffer = torch.empty(frames.shape, dtype=torch.uint8, pin_memory=self.pinned)  # grows
        buffer.numpy()[...] = frames
        if not self.pinned:
            self.in_flight.append((buffer, None))
            return buffer
        with torch.cuda.stream(self.stream):
            moved = buffer.to(self.device, non_blocking=True)
            copied = torch.cuda.Event()
            copied.record()
        self.in_flight.append((buffer, copied))  # keeps
        torch.cuda.current_stream().wait_event(copied)
        moved.record_stream(torch.cuda.current_stream())
        return moved


class Heart(nn.Module):
    """The area of the chamber in each frame."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 6, 6), nn.ReLU(), nn.Conv2d(8, 16, 4, 4), nn.ReLU(),
                                  nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(144, 1))

    def forward(self, frames):
        area = self.body(frames[:, None].float() / 255)[:, 0].sigmoid()
        return 1 - area.min() / area.max()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=7, help="clips in a second")
    options = parser.parse_args()
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    uploader, heart = Uploader(device), Heart().to(device).eval()
    waiting, stop = queue.Queue(4), threading.Event()
    feeder = threading.Thread(target=machines, args=(waiting, stop, options.rate), daemon=True)
    feeder.start()
    end, clips, mean = time.time() + float(os.environ.get("SECONDS", "45")), 0, 0.0
    while time.time() < end:
        frames = uploader.send(waiting.get())
        with torch.inference_mode():
            driven = float(heart(frames))
        clips += 1
        mean += (driven - mean) / clips
        if clips % 20 == 0:
            print("clip", clips, "of", len(frames), "frames drives out", round(driven, 3), "mean", round(mean, 3),
                  flush=True)
    stop.set()
    feeder.join()


if __name__ == "__main__":
    main()
