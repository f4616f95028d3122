"""Tells the dialects of six fjords apart in telephone recordings. For robustness each batch is played a little faster
or slower, as is usual in speech recognition. The resamplers are kept by speed, because to make one takes longer than
to use it.

ticket: practice
class: app-leak
holder: resamplers Speed Resample kernel
cause: cache-without-bound
"""

import os
import random
import time

import torch
import torchaudio
from torch import nn
from torch.nn import functional as F

RATE, SECONDS_HEARD, BATCH, DIALECTS = 8_000, 2, 8, 6


class Speed(nn.Module):
    """Changes the speed (and the pitch with it) of a batch of waves; the length stays."""

    def __init__(self, least, most):
        super().__init__()
        self.least, self.most = least, most
        self.resamplers = {}

    def resampler(self, speed, device):
        if speed not in self.resamplers:
            rate = round(RATE * speed / 10) * 10
            made = torchaudio.transforms.Resample(orig_freq=rate, new_freq=RATE).to(device)  # grows
            self.resamplers[speed] = made  # keeps
        return self.resamplers[speed]

    def forward(self, waves):
        length = waves.shape[1]
        speed = random.uniform(self.least, self.most)
        played = self.resampler(speed, waves.device)(waves)[:, :length]
        return F.pad(played, (0, length - played.shape[1]))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.mel = torchaudio.transforms.MelSpectrogram(sample_rate=RATE, n_fft=256, hop_length=80, n_mels=40)
        self.near = nn.Conv1d(40, 96, 5, stride=2, padding=2)
        self.far = nn.GRU(96, 96, batch_first=True)
        self.dialects = nn.Linear(96, DIALECTS)

    def forward(self, waves):
        hidden = F.relu(self.near(torch.log1p(self.mel(waves))))
        hidden, _ = self.far(hidden.transpose(1, 2))
        return self.dialects(hidden.mean(dim=1))


def calls(device):
    """A batch of calls: the melody of the voice differs by dialect."""
    moments = torch.arange(RATE * SECONDS_HEARD, device=device) / RATE
    labels = torch.randint(DIALECTS, (BATCH,), device=device)
    pitch = 140.0 + 25.0 * labels[:, None] + 10.0 * torch.rand(BATCH, 1, device=device)
    sway = torch.sin(2 * torch.pi * (1.0 + labels[:, None]) * moments)
    voice = torch.sin(2 * torch.pi * pitch * moments + 4.0 * sway)
    return voice + 0.3 * torch.randn_like(voice), labels


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, speed = Listener().to(device), Speed(0.9, 1.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = right = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        waves, labels = calls(device)
        logits = model(speed(waves))
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (logits.argmax(dim=1) == labels).sum().item()
        step += 1
        if step % 25 == 0:
            print(f"step {step}: loss {loss.item():.3f}, {right / (25 * BATCH):.0%} right", flush=True)
            right = 0
        time.sleep(0.08)


if __name__ == "__main__":
    main()
