"""Which bats fly over each garden? For every garden the chirps of its species are warmed or cooled to the night's
temperature. The matched filter is compiled with torch.jit, since it runs on every recording, and takes the chirps'
bank of spectra beside the recording. The strongest answer of each chirp is the score of its species.

ticket: pytorch/pytorch#43119
class: none
"""

import os
import random
import time
from collections import Counter

import torch

SIZE, SPECIES, CHIRP = 32_768, 12, 2_048
RATE = 250_000.0


def chirps(temperature, device):
    """One falling chirp for each species; the pitch rises with the temperature."""
    times = torch.arange(CHIRP, device=device) / RATE
    high = torch.linspace(40_000, 90_000, SPECIES, device=device)[:, None] * (1 + 0.002 * (temperature - 15))
    low = 0.5 * high
    phase = 2 * torch.pi * (high * times - 0.5 * (high - low) * times.square() / times[-1])
    return torch.sin(phase) * torch.hann_window(CHIRP, device=device)


def filter_bank(temperature, device):
    """The spectra of the species' chirps, turned around in time."""
    return torch.conj_physical(torch.fft.rfft(chirps(temperature, device), n=SIZE))


def matched_filter(device):
    """A compiled function that gives the strongest answer of each species' chirp in a recording."""

    def answer(recording, bank):
        echoes = torch.fft.irfft(torch.fft.rfft(recording)[None] * bank, n=SIZE)
        return echoes.abs().amax(dim=1) / recording.norm()

    return torch.jit.trace(answer, (torch.ones(SIZE, device=device), filter_bank(14.0, device)), check_trace=False)


def recording(temperature, device):
    """Noise, and perhaps one of the bats."""
    sound = 0.3 * torch.randn(SIZE, device=device)
    if random.random() < 0.7:
        start = random.randrange(SIZE - CHIRP)
        sound[start : start + CHIRP] += chirps(temperature, device)[random.randrange(SPECIES)]
    return sound


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    answers, gardens, heard = matched_filter(device), 0, Counter()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        temperature = random.gauss(14.0, 4.0)
        bank = filter_bank(temperature, device)
        for _ in range(random.randint(3, 6)):
            scores = answers(recording(temperature, device), bank)
            best = int(scores.argmax())
            if scores[best].item() > 2.0:
                heard[best] += 1
            time.sleep(random.uniform(0.04, 0.08))
        gardens += 1
        if gardens % 20 == 0:
            print(gardens, "gardens, bats heard:", heard.most_common(3), flush=True)


if __name__ == "__main__":
    main()
