"""Sixteen microphones listen for sirens along a street. Each second of sound becomes a mel spectrogram, a small
convolutional network reads it, and a GRU whose state goes on from one second to the next says how likely a siren is
at each microphone. A crossing that is sure of it gets a green wave.

ticket: practice
class: app-leak
holder: state Listener listener grad_fn
cause: uncut-autograd-graph
"""

import math
import os
import time

import torch
import torchaudio
from torch import nn

MICROPHONES, RATE, WIDTH = 16, 16_000, 96


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.mel = torchaudio.transforms.MelSpectrogram(RATE, n_fft=512, hop_length=160, n_mels=48)
        self.encoder = nn.Sequential(
            nn.Conv1d(48, WIDTH, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(WIDTH, WIDTH, 5, padding=2),
            nn.ReLU(),
        )
        self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.score = nn.Linear(WIDTH, 1)
        self.state = None

    def listen(self, sound):
        """The likelihood of a siren at each microphone after this second."""
        spectrum = torch.log(self.mel(sound) + 1e-5)  # grows
        heard = self.encoder(spectrum).transpose(1, 2)  # grows
        outputs, self.state = self.gru(heard, self.state)  # grows keeps
        return torch.sigmoid(self.score(outputs[:, -1])).squeeze(1)


class Street:
    """Traffic noise, and a siren that drives by now and then."""

    def __init__(self, device):
        self.device, self.second = device, 0
        self.times = torch.arange(RATE, device=device) / RATE
        self.places = torch.arange(MICROPHONES, device=device).float()

    def record(self):
        noise = 0.1 * torch.randn(MICROPHONES, RATE, device=self.device)
        position = self.second % 60
        pitch = 700 + 300 * torch.sin(2 * math.pi * self.times)
        loudness = torch.exp(-((self.places - position) ** 2) / 8)
        self.second += 1
        return noise + loudness[:, None] * torch.sin(2 * math.pi * pitch * self.times)


class Crossings:
    """Which crossings have a green wave: on above one bound, off below another."""

    def __init__(self, on=0.6, off=0.4):
        self.on, self.off = on, off
        self.green = [False] * MICROPHONES
        self.switched = 0

    def update(self, scores):
        for place, score in enumerate(scores):
            wanted = score > (self.off if self.green[place] else self.on)
            if wanted != self.green[place]:
                self.green[place] = wanted
                self.switched += 1


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    listener, street, crossings = Listener().to(device).eval(), Street(device), Crossings()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        scores = listener.listen(street.record())
        crossings.update(scores.tolist())
        if street.second % 15 == 0:
            loudest = scores.argmax().item()
            print(f"second {street.second}: microphone {loudest} is surest ({scores.max().item():.2f}),",
                  f"{sum(crossings.green)} green, {crossings.switched} switched", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
