"""Recordings of underwater microphones are searched for the songs of whales. Several detectors, one for each kind of
whale, look at the same recording, so its cleaned spectrogram is worked out once, and kept at the class of the
detectors until the next recording comes.

ticket: practice
class: none
"""

import os
import random
import time

import torch
import torch.nn.functional as F

RATE, BINS, HOP = 4000, 512, 64
KINDS = {"blue": (2, 26, 60), "fin": (2, 18, 24), "humpback": (20, 120, 40), "minke": (12, 60, 16)}


class Recording:
    """Some seconds of the sea, with a few songs in it."""

    def __init__(self, name, seconds, device):
        self.name = name
        time_ = torch.arange(seconds * RATE, device=device) / RATE
        self.sound = 0.3 * torch.randn(seconds * RATE, device=device)
        for _ in range(random.randint(2, 6)):
            start, pitch, bend = random.uniform(0, seconds - 3), random.uniform(40, 800), random.uniform(-30, 30)
            inside = ((time_ > start) & (time_ < start + 2)).float()
            self.sound += inside * torch.sin(6.2832 * (pitch + bend * (time_ - start)) * time_)


class Detector:
    """Finds the songs of one kind of whale."""

    cleaned = (None, None)  # the name of the last recording, and its spectrogram
    window = None

    def __init__(self, kind, device):
        self.kind, self.device = kind, device
        self.low, self.high, self.length = KINDS[kind]
        rows, columns = self.high - self.low, self.length
        line = torch.linspace(0, rows - 1, columns, device=device)
        shape = torch.exp(-0.5 * (torch.arange(rows, device=device)[:, None] - line) ** 2)
        self.template = (shape - shape.mean()) / shape.norm()

    def spectrogram(self, recording):
        if recording.name != self.cleaned[0]:
            if Detector.window is None:
                Detector.window = torch.hann_window(BINS, device=self.device)
            power = torch.stft(recording.sound, BINS, HOP, window=self.window, return_complex=True).abs()
            power = torch.log1p(power)
            floor = power.mean(1, keepdim=True)
            Detector.cleaned = recording.name, (power - floor).clamp(min=0)
        return self.cleaned[1]

    def find(self, recording, threshold=4.0):
        """The seconds at which a song begins."""
        band = self.spectrogram(recording)[self.low:self.high]
        match = F.conv1d(band[None], self.template[None])[0, 0]
        match = (match - match.mean()) / match.std()
        peaks = (match == F.max_pool1d(match[None], 63, 1, 31)[0]) & (match > threshold)
        return (peaks.nonzero()[:, 0] * HOP / RATE).tolist()


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end, heard, number = time.time() + float(os.environ.get("SECONDS", "45")), dict.fromkeys(KINDS, 0), 0
    while time.time() < end:
        recording = Recording(f"buoy{number % 5}-{number:06d}", random.choice((40, 60, 80)), device)
        for kind in KINDS:
            heard[kind] += len(Detector(kind, device).find(recording))
        number += 1
        if number % 10 == 0:
            print(number, "recordings,", ", ".join(f"{kind} {count}" for kind, count in heard.items()), flush=True)
        time.sleep(random.uniform(0.2, 0.8))


if __name__ == "__main__":
    main()
