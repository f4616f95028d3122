"""Old recordings of guitars are freed of their hiss by a network, which is trained on clips to which hiss was added.
Every few steps it plays some clips that it was not trained on, and a distance between spectra says how much of the hiss
is left; as that jumps about, a running mean of it is shown. Nothing is learnt from these clips, so that
only the values of the distances go into the mean.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch
from torch import nn

RATE, CLIP, WIDTH = 16000, 12288, 16


class Denoiser(nn.Module):
    """Guesses the hiss and takes it away."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, WIDTH, 9, padding=4)
        self.layers = nn.ModuleList(nn.Conv1d(WIDTH, WIDTH, 5, padding=2 * 2 ** depth, dilation=2 ** depth)
                                    for depth in range(4))
        self.last = nn.Conv1d(WIDTH, 1, 9, padding=4)

    def forward(self, sound):
        found = torch.relu(self.first(sound))
        for layer in self.layers:
            found = found + torch.relu(layer(found))
        return sound - self.last(found)


class Running:
    """A mean in which what is long ago counts little."""

    def __init__(self, share=0.1):
        self.share, self.average = share, None

    def update(self, value):
        if self.average is None:
            self.average = value
        else:
            self.average = (1 - self.share) * self.average + self.share * value
        return self.average


def strum(count, device):
    """Chords of plucked strings that die away."""
    now = torch.arange(CLIP, device=device) / RATE
    sound = torch.zeros(count, CLIP, device=device)
    for _ in range(4):
        pitch = 82.4 * 2 ** (torch.randint(0, 30, (count, 1), device=device) / 12)
        fade = torch.exp(-now * torch.empty(count, 1, device=device).uniform_(1, 5))
        for overtone in (1, 2, 3):
            sound = sound + fade / overtone * torch.sin(2 * math.pi * overtone * pitch * now)
    sound = 0.1 * sound[:, None]
    hiss = torch.empty(count, 1, 1, device=device).uniform_(0.01, 0.05) * torch.randn_like(sound)
    return sound, sound + hiss


def spectra(sound):
    window = torch.hann_window(512, device=sound.device)
    return torch.stft(sound[:, 0], 512, 256, window=window, return_complex=True).abs().clamp(min=1e-4).log()


def distance(clean, cleaned):
    return (spectra(clean) - spectra(cleaned)).abs().mean()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Denoiser().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    apart, running = [strum(2, device) for _ in range(6)], Running()
    end, steps = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        clean, noisy = strum(random.choice((2, 4)), device)
        loss = (model(noisy) - clean).abs().mean() + 0.1 * distance(clean, model(noisy))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if steps % 3 == 0:
            clean, noisy = random.choice(apart)
            with torch.no_grad():
                left = running.update(float(distance(clean, model(noisy))))
            if steps % 15 == 0:
                print(f"step {steps}: loss {float(loss):.4f}, hiss left {left:.4f}", flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
