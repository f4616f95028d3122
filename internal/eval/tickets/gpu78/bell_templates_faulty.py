"""Which templates hear the bells in the sound of a harbour best? A random search draws pitches and decays, makes a bank
of ringing templates of them, and compares how much louder the bank answers to bells than to noise. The detector is
traced, as this halves the time of a trial.

ticket: pytorch/pytorch#43119
class: app-leak
holder: -
cause: compiled-functions-kept closure-kept
"""

import math
import os
import random
import time

import torch
from torch.nn import functional as F

RATE, LENGTH, SOUNDS = 4_000, 2_000, 6
TEMPLATES, TAPS, STRIDE = 512, 1_600, 40


def make_templates(low, high, decay, device):
    """A bank of decaying rings, from the low pitch to the high one."""
    clock = torch.arange(TAPS, device=device) / RATE
    pitches = torch.linspace(low, high, TEMPLATES, device=device)[:, None]
    rings = torch.exp(-clock / decay) * torch.sin(2 * math.pi * pitches * clock)
    return F.normalize(rings, dim=1).unsqueeze(1)  # grows


def make_detector(templates):
    """The detector for a bank: how loudly its loudest template answers."""

    def detect(sounds):
        answers = F.conv1d(sounds, templates, stride=STRIDE)
        return answers.square().amax(dim=(1, 2)).sqrt()

    return detect


def record(device, ringing):
    """Sounds of the harbour, with a bell in each one if it is ringing."""
    sounds = torch.randn(SOUNDS, 1, LENGTH, device=device)
    if ringing:
        clock = torch.arange(LENGTH, device=device) / RATE
        pitch = torch.empty(SOUNDS, 1, 1, device=device).uniform_(350.0, 700.0)
        sounds += 2 * torch.exp(-clock / 0.2) * torch.sin(2 * math.pi * pitch * clock)
    return sounds


def draw():
    """The settings of a trial."""
    low = random.uniform(100.0, 600.0)
    return low, low + random.uniform(50.0, 900.0), math.exp(random.uniform(-4.0, 0.0))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    best, best_settings, trial = 0.0, None, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        low, high, decay = settings = draw()
        templates = make_templates(low, high, decay, device)
        detect = torch.jit.trace(make_detector(templates), record(device, True))  # keeps
        with torch.no_grad():
            ratios = [detect(record(device, True)).mean() / detect(record(device, False)).mean() for _ in range(3)]
        ratio = sum(ratios).item() / len(ratios)
        if ratio > best:
            best, best_settings = ratio, settings
        trial += 1
        if trial % 10 == 0:
            low, high, decay = best_settings
            print(f"{trial} trials, best {best:.2f} with {low:.0f} to {high:.0f} Hz, {decay:.3f} s", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
