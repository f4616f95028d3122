"""Follows a conductor's baton and hand from motion capture and tells the accompaniment how fast to play.

The markers come in as twenty-four channels; for every beat the last 4096 samples are encoded on the card into a trace
of features over time.  Four beats make a phrase.  When a phrase is complete it is laid against the phrase before it,
and the lag at which the two agree best says whether the conductor pushes or holds back.  The program runs in the hall
beside the sound system.  It prints tempo and rubato once in a while.

ticket: practice
class: none
"""
import gc
import math
import os
import time
import weakref

import torch
import torch.nn.functional as F
from torch import nn

CHANNELS = 24
SAMPLES = 4096
FEATURES = 192
BEATS = 4


class TraceEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(CHANNELS, 64, 9, padding=4)
        self.second = nn.Conv1d(64, FEATURES, 9, padding=4)

    def forward(self, markers):
        return torch.tanh(self.second(F.relu(self.first(markers))))


class Beat:
    def __init__(self, phrase, trace):
        self.in_phrase = weakref.ref(phrase)
        self.place = len(phrase.phrase_beats)
        self.trace = trace
        self.energy = trace.square().mean(dim=(0, 1))

    def weight(self):
        """The first beat of a phrase counts most."""
        beats = self.in_phrase().phrase_beats
        return 1.0 / (1.0 + self.place) if len(beats) == BEATS else 0.5


class Phrase:
    def __init__(self, number):
        self.number = number
        self.phrase_beats = []

    def add(self, trace):
        beat = Beat(self, trace)
        self.phrase_beats.append(beat)
        return beat

    def complete(self):
        return len(self.phrase_beats) == BEATS

    def lag_to(self, other):
        """Samples by which this phrase runs ahead of the other, beat by beat, weighted."""
        total, weights = 0.0, 0.0
        for mine, theirs in zip(self.phrase_beats, other.phrase_beats):
            a = torch.fft.rfft(mine.energy - mine.energy.mean(), n=2 * SAMPLES)
            b = torch.fft.rfft(theirs.energy - theirs.energy.mean(), n=2 * SAMPLES)
            match = torch.fft.irfft(a * b.conj(), n=2 * SAMPLES)
            lag = int(match.argmax())
            lag = lag - 2 * SAMPLES if lag > SAMPLES else lag
            closeness = F.cosine_similarity(mine.trace.flatten(), theirs.trace.flatten(), dim=0).item()
            weight = mine.weight() * (1.0 + max(closeness, 0.0))
            total += weight * lag
            weights += weight
        return total / weights


class Conductor:
    """Made-up motion: a beat pattern that quickens and slackens."""

    def __init__(self, device):
        self.device = device
        self.phase = torch.rand(CHANNELS, 1, device=device) * 2.0 * math.pi
        self.ramp = torch.arange(SAMPLES, device=device, dtype=torch.float32) / SAMPLES
        self.count = 0

    def next_markers(self):
        self.count += 1
        tempo = 2.0 + 0.4 * math.sin(self.count / 17.0)
        swing = torch.sin(2.0 * math.pi * tempo * (self.ramp + self.count) + self.phase)
        return (swing + 0.05 * torch.randn_like(swing)).unsqueeze(0), 60.0 * tempo


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(9)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    encoder = TraceEncoder().to(device).eval()
    conductor = Conductor(device)
    phrase, before = Phrase(0), None
    rubato = 0.0
    spoken = time.time()
    gc.collect()
    gc.disable()
    with torch.inference_mode():
        while time.time() < deadline:
            markers, tempo = conductor.next_markers()
            phrase.add(encoder(markers))
            if phrase.complete():
                if before is not None:
                    rubato = 0.8 * rubato + 0.2 * phrase.lag_to(before)
                before, phrase = phrase, Phrase(phrase.number + 1)
            if time.time() - spoken > 2.0:
                mood = "pushes" if rubato > 0.0 else "holds back"
                print(f"phrase {phrase.number}: {tempo:.0f} beats a minute, {mood} ({rubato:.1f} samples)", flush=True)
                spoken = time.time()
            time.sleep(0.16)
    print(f"concert over after {phrase.number} phrases", flush=True)


if __name__ == "__main__":
    main()
