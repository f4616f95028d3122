"""The archive of a radio station is rendered anew from old tapes. A tape deck does not hold its speed: a pilot tone
tells by how much each piece was too fast or too slow, and the piece is resampled to the right speed. A piece has
several tracks, which come one after the other, so the resampler of a speed is made once and used again.

ticket: practice
class: none
"""

import math
import os
import random
import time
from functools import lru_cache

import torch
import torchaudio

RATE, LENGTH, PILOT, BASE = 16_000, 2, 50.0, 1000
TRACKS = 4

device = "cuda" if torch.cuda.is_available() else "cpu"


@lru_cache(maxsize=2)
def resampler(speed):
    """What brings a piece that was played at this speed back to the speed 1."""
    transform = torchaudio.transforms.Resample(round(BASE / speed), BASE)
    return transform.to(device)


class Deck:
    """Plays a tape, piece by piece; its speed wanders."""

    def __init__(self):
        self.speed = 1.0

    def pieces(self):
        while True:
            self.speed += random.gauss(0, 0.02) - 0.1 * (self.speed - 1)
            self.speed = min(max(self.speed, 0.8), 1.25)
            moments = torch.arange(RATE * LENGTH, device=device) / RATE
            pilot = torch.sin(2 * math.pi * PILOT * self.speed * moments)
            yield pilot, (self.track(moments) for _ in range(TRACKS))

    def track(self, moments):
        pitch = random.choice([220.0, 247.0, 262.0, 294.0, 330.0]) * self.speed
        hiss = 0.01 * torch.randn_like(moments)
        return torch.sin(2 * math.pi * pitch * moments) + hiss


def measure(pilot):
    """The speed, from the times between the first and the last rise of the pilot tone through zero."""
    rises = torch.nonzero((pilot[:-1] < 0) & (pilot[1:] >= 0)).flatten()
    first, last = rises[0].item(), rises[-1].item()
    before, after = pilot[[first, last]], pilot[[first + 1, last + 1]]
    shares = (before / (before - after)).tolist()
    length = (last + shares[1]) - (first + shares[0])
    return (len(rises) - 1) * RATE / length / PILOT


def main():
    torch.set_num_threads(1)
    pieces, tracks, loudest = 0, 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for pilot, recorded in Deck().pieces():
        speed = measure(pilot)
        for track in recorded:
            restored = resampler(speed)(track)
            loudest = max(loudest, restored.square().mean().sqrt().item())
            tracks += 1
        pieces += 1
        if pieces % 20 == 0:
            print(f"{pieces} pieces, {tracks} tracks, speed {speed:.4f}, loudest {loudest:.3f}", flush=True)
        if time.time() > end:
            break
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
