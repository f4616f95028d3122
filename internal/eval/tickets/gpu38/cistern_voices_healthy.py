"""Voices for training are put into an old cistern: each is convolved with one of the echoes that were measured there.
Both are filled up to a power of two, taken to frequencies, multiplied and taken back. No two voices are of the same
length.

ticket: pytorch/pytorch#94893
class: none
"""

import os
import random
import time

import torch

RATE = 16_000
SHORTEST, LONGEST = 6 * RATE, 13 * RATE


def measure_echoes(device, count=6, seconds=3):
    """Echoes of the places of the cistern, from the stairs to the far wall."""
    samples = torch.arange(seconds * RATE, device=device) / RATE
    echoes = []
    for place in range(count):
        decay = torch.exp(-samples * (1.5 + 0.4 * place))
        echo = decay * torch.randn(len(samples), device=device)
        echo[: 40 * place + 1] = 0
        echoes.append(echo / echo.norm())
    return echoes


def voice():
    """A voice that hums with pauses, of any length."""
    length = random.randrange(SHORTEST, LONGEST)
    samples = torch.arange(length) / RATE
    pitch = random.uniform(90, 260)
    hum = sum(torch.sin(6.283 * pitch * harmonic * samples) / harmonic for harmonic in (1, 2, 3))
    return hum * (torch.sin(samples * random.uniform(2, 5)) > -0.3)


def convolve(wave, echo):
    """The wave with its echo, which goes on after it."""
    length = len(wave) + len(echo) - 1
    size = 1 << (length - 1).bit_length()
    spectrum = torch.fft.rfft(wave, n=size) * torch.fft.rfft(echo, n=size)
    return torch.fft.irfft(spectrum, n=size)[:length]


class Levels:
    """Running mean and peak of what was made."""

    def __init__(self):
        self.count, self.seconds, self.mean, self.peak = 0, 0.0, 0.0, 0.0

    def add(self, wave):
        self.count += 1
        self.seconds += len(wave) / RATE
        self.mean += (wave.square().mean().sqrt().item() - self.mean) / self.count
        self.peak = max(self.peak, wave.abs().amax().item())

    def __str__(self):
        return f"{self.count} voices, {self.seconds:.0f} s: mean level {self.mean:.3f}, peak {self.peak:.2f}"


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    echoes, levels = measure_echoes(device), Levels()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        wet = convolve(voice().to(device), random.choice(echoes))
        levels.add(wet / wet.abs().amax())
        if levels.count % 15 == 0:
            print(levels, flush=True)
        time.sleep(random.uniform(0.15, 0.35))


if __name__ == "__main__":
    main()
