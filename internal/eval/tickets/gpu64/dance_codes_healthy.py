"""Stores dance videos as codes: a decoder that all clips share makes the frames from a code for the clip and the time.
Clips come in one after the other; for each, a fresh code is fitted together with the decoder and leaves the optimizer,
then it is rounded to eight bits, and the size and the error are reported.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

CHANNELS, CELLS, SIDE, FRAMES, FITS = 160, 32, 64, 4, 5


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.squeeze = nn.Conv2d(CHANNELS + 2, 48, 1)
        self.paint = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(48, 24, 4, 2, 1), nn.ReLU(), nn.Conv2d(24, 3, 3, 1, 1))

    def forward(self, code, times):
        clock = torch.stack([torch.sin(times), torch.cos(times)], dim=1)[:, :, None, None]
        clock = clock.expand(-1, -1, CELLS, CELLS)
        code = code.expand(len(times), -1, -1, -1)
        return self.paint(self.squeeze(torch.cat([code, clock], dim=1))).sigmoid()


class Clip:
    """A dancer (a disc) who sways before a backdrop."""

    def __init__(self):
        self.backdrop = torch.rand(3, 1, 1)
        self.reach, self.height, self.beat = random.uniform(8, 24), random.uniform(20, 44), random.uniform(1, 3)

    def frames(self, times):
        rows, columns = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
        pictures = []
        for moment in times.tolist():
            x = SIDE / 2 + self.reach * math.sin(self.beat * moment)
            disc = ((rows - self.height) ** 2 + (columns - x) ** 2 < 64).float()
            pictures.append(self.backdrop * (1 - disc) + disc)
        return torch.stack(pictures)


def fit(clip, decoder, optimizer, device):
    """Fits a code for the clip; gives it in eight bits, and the error."""
    code = nn.Parameter(torch.zeros(1, CHANNELS, CELLS, CELLS, device=device))
    optimizer.add_param_group({"params": [code], "lr": 0.05})
    for _ in range(FITS):
        times = 6 * torch.rand(FRAMES)
        frames = clip.frames(times).to(device)
        loss = F.mse_loss(decoder(code, times.to(device)), frames)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        time.sleep(random.uniform(0.01, 0.05))
    optimizer.param_groups.pop()
    optimizer.state.pop(code)
    return (code.detach() * 32).round().clamp(-128, 127).to(torch.int8).cpu(), loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    decoder = Decoder().to(device)
    optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    clips, used = 0, 0
    while time.time() < end:
        packed, error = fit(Clip(), decoder, optimizer, device)
        clips += 1
        used += packed.count_nonzero().item()
        if clips % 10 == 0:
            print(f"{clips} clips: {used / clips / 1024:.0f} KiB each, last error {error:.4f}", flush=True)
        if clips % 25 == 0:
            time.sleep(0.5)  # the next tape is put in


if __name__ == "__main__":
    main()
