"""Listens to the microphones in an olive grove and counts cicadas by species. The pitch of each window of sound is
found first; the filter bank is then laid on the harmonics above that pitch, and a small network names the species.
As it is slow to compute a filter bank, they are stored by pitch.

ticket: practice
class: app-leak
holder: banks Listener
cause: cache-without-bound
"""

import os
import random
import time
from collections import Counter

import torch
import torchaudio
from torch import nn

RATE, WINDOW, FILTERS = 44_100, 4096, 96
SPECIES = {"plebeja": 3300.0, "orni": 4200.0, "barbara": 3800.0}


class Namer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(FILTERS, 64, 5, padding=2), nn.ReLU(),
            nn.Conv1d(64, 32, 5, padding=2), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, len(SPECIES)),
        )

    def forward(self, bands):
        return self.layers(bands)


class Listener:
    def __init__(self, device):
        self.device = device
        self.namer = Namer().to(device).eval()
        self.hann = torch.hann_window(WINDOW, device=device)
        self.banks = {}

    def pitch(self, power):
        """The pitch by a parabola through the loudest bin and its neighbours."""
        loudness = power.mean(dim=-1).add(1e-9).log()
        peak = loudness[200:700].argmax().item() + 200
        left, top, right = loudness[peak - 1:peak + 2].tolist()
        return (peak + 0.5 * (left - right) / (left - 2 * top + right + 1e-9)) * RATE / WINDOW

    def bank(self, pitch):
        if pitch not in self.banks:
            bank = torchaudio.functional.melscale_fbanks(
                WINDOW // 2 + 1, f_min=0.8 * pitch, f_max=RATE / 2, n_mels=FILTERS, sample_rate=RATE
            ).to(self.device)  # grows
            self.banks[pitch] = bank  # keeps
        return self.banks[pitch]

    @torch.no_grad()
    def name(self, sound):
        spectrum = torch.stft(sound.to(self.device), WINDOW, 1024, window=self.hann, return_complex=True)
        power = spectrum.abs().square()
        pitch = self.pitch(power)
        bands = torch.log1p(self.bank(pitch).T @ power)
        return list(SPECIES)[self.namer(bands[None]).argmax().item()], pitch


def record(seconds=0.5):
    """A window of sound from one microphone: a singing cicada and wind."""
    base = random.choice(list(SPECIES.values())) * random.uniform(0.97, 1.03)
    times = torch.arange(int(seconds * RATE)) / RATE
    buzz = 1 + 0.5 * torch.sin(2 * torch.pi * 140 * times)
    song = sum(torch.sin(2 * torch.pi * base * harmonic * times) / harmonic ** 2 for harmonic in (1, 2, 3))
    return buzz * song + 0.1 * torch.randn_like(times)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    listener, heard, pitches = Listener(device), Counter(), 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        species, pitch = listener.name(record())
        heard[species] += 1
        pitches += pitch
        count = sum(heard.values())
        if count % 25 == 0:
            print(f"{count} windows, {dict(heard)}, mean pitch {pitches / count:.0f} Hz", flush=True)
        time.sleep(random.choice((0.04, 0.06, 0.1)))


if __name__ == "__main__":
    main()
