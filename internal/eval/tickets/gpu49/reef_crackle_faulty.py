"""Takes the crackle of shrimps out of recordings of a reef. The curriculum begins with short excerpts, where there is
little to remember, and makes them longer every few steps, until they are as long as a whole recording. The learning
rate warms up and then falls with a cosine.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks pool-never-trims
"""

import math
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, CHANNELS = 16, 32
SHORTEST, LONGEST, LONGER_BY, STEPS_PER_STAGE = 6144, 24_576, 512, 14


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, CHANNELS, 9, padding=4)
        self.middle = nn.Conv1d(CHANNELS, CHANNELS, 9, padding=4)
        self.last = nn.Conv1d(CHANNELS, 1, 9, padding=4)

    def forward(self, noisy):
        hidden = F.gelu(self.first(noisy))  # grows keeps
        hidden = F.gelu(self.middle(hidden))  # grows keeps
        return noisy - self.last(hidden)


class Curriculum:
    """How long the excerpts are at each step."""

    def __init__(self):
        self.steps = 0

    @property
    def length(self):
        return min(SHORTEST + self.steps // STEPS_PER_STAGE * LONGER_BY, LONGEST)


def excerpts(length, device):
    """Excerpts of whale song, without the crackle and with it."""
    moments = torch.arange(length, device=device) / 8000
    pitch = 80 + 300 * torch.rand(BATCH, 1, 1, device=device)
    clean = torch.sin(2 * math.pi * pitch * moments)
    crackle = (torch.rand_like(clean) > 0.995) * torch.randn_like(clean) * 3
    return clean, clean + crackle


def rate(step, warm_up=20, period=2000):
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 + 0.5 * math.cos(math.pi * ((step - warm_up) % period) / period)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, curriculum = Denoiser().to(device), Curriculum()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    mean_loss = None
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        length = curriculum.length
        clean, noisy = excerpts(length, device)
        optimizer.zero_grad(set_to_none=True)
        loss = F.l1_loss(model(noisy), clean)
        loss.backward()  # grows keeps
        optimizer.step()
        schedule.step()
        curriculum.steps += 1
        mean_loss = loss.item() if mean_loss is None else 0.9 * mean_loss + 0.1 * loss.item()
        if curriculum.steps % 15 == 0:
            print(f"step {curriculum.steps}: {length} samples, loss {mean_loss:.4f}, rate "
                  f"{schedule.get_last_lr()[0]:.5f}", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
