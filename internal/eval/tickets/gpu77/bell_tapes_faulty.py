"""Finds the strokes of church bells on old tapes. The tapes are cut into pieces of very different lengths, and each
piece is copied into pinned memory before it goes to the GPU, which makes the way there much faster. Pinned memory is
slow to get, so a buffer is used again for the next piece that fits it.

ticket: practice
class: host-growth
holder: buffers staging Staging
cause: pinned-staging size-class-misses cache-without-bound
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

RATE, SHORTEST, LONGEST = 16_000, 8, 40
FRAME, HOP = 400, 160


class Staging:
    """Pinned buffers, and how often one was there already."""

    def __init__(self, pinned):
        self.pinned, self.buffers = pinned, {}
        self.hits = self.misses = 0

    def buffer(self, samples):
        if samples in self.buffers:
            self.hits += 1
        else:
            self.misses += 1
            self.buffers[samples] = torch.empty(samples, pin_memory=self.pinned)  # grows keeps
        return self.buffers[samples]

    def send(self, piece, device):
        """Bring a piece to the device by way of a buffer."""
        staged = self.buffer(len(piece))
        staged.copy_(piece)
        sent = staged.to(device, non_blocking=True)
        if self.pinned:
            torch.cuda.current_stream().synchronize()
        return sent


class Strokes(nn.Module):
    def __init__(self):
        super().__init__()
        self.listen = nn.Linear(FRAME, 8)
        self.decide = nn.Linear(8, 1)

    def forward(self, sound):
        frames = sound.unfold(0, FRAME, HOP)
        return self.decide(F.relu(self.listen(frames))).squeeze(1)


def next_piece():
    """A piece of tape: hiss, and a bell that rings now and then."""
    samples = random.randrange(SHORTEST * RATE, LONGEST * RATE)
    piece = 0.01 * torch.randn(samples)
    for start in range(RATE, samples - RATE, 3 * RATE):
        ringing = torch.arange(RATE) / RATE
        piece[start:start + RATE] += torch.exp(-4 * ringing) * torch.sin(2700 * ringing)
    return piece


@torch.inference_mode()
def find(model, sound):
    """The places, in seconds, of the three likeliest strokes."""
    scores = model(sound)
    return sorted(round(frame * HOP / RATE, 1) for frame in scores.topk(3).indices.tolist())


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, staging, pieces, seconds = Strokes().to(device).eval(), Staging(device == "cuda"), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        piece = next_piece()
        places = find(model, staging.send(piece, device))
        pieces += 1
        seconds += len(piece) / RATE
        if pieces % 15 == 0:
            print(f"{pieces} pieces, {seconds / 60:.0f} minutes, {staging.hits} buffers used again, "
                  f"strokes of the last one at {places}", flush=True)
        time.sleep(random.uniform(0.06, 0.16))


if __name__ == "__main__":
    main()
