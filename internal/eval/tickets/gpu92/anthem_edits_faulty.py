"""Editing desk for the recording of an anthem.

Four voices of a choir lie on four tracks on the device. The sound engineer goes through
the recording and works on one passage after the other: fades, filters, levels, echoes.
Each edit can be taken back with the undo key, which the engineer presses about once in
ten edits. Now and then the four tracks are mixed down and the loudness of the mix is shown.

ticket: practice
class: app-leak
holder: undo_steps
cause: closure-kept
"""
import os
import random
import time
from collections import deque

import torch

VOICES = ("soprano", "alto", "tenor", "bass")
RATE = 48000
LENGTH = 1 << 20
PASSAGE = (1 << 18, 3 << 17)
PACE = 1 / 6
EDITS = {}


def edit(name):
    def register(function):
        EDITS[name] = function
        return function
    return register


@edit("fade")
def fade(sound):
    ramp = torch.linspace(1.0, 0.4, sound.numel(), device=sound.device)
    return sound * ramp


@edit("level")
def level(sound):
    return sound * (0.1 / sound.pow(2).mean().sqrt().clamp(min=1e-4))


@edit("low cut")
def low_cut(sound):
    spectrum = torch.fft.rfft(sound)
    spectrum[: int(80 * sound.numel() / RATE)] = 0
    return torch.fft.irfft(spectrum, n=sound.numel())


@edit("echo")
def echo(sound):
    return 0.8 * sound + 0.2 * torch.roll(sound, int(0.12 * RATE))


@edit("limit")
def limit(sound):
    return torch.tanh(2.0 * sound) / 2.0


def sung_part(index, device):
    """A slow line of partials, one line for each voice."""
    seconds = torch.arange(LENGTH, device=device) / RATE
    base = (520.0, 390.0, 260.0, 130.0)[index]
    swell = 0.6 + 0.4 * torch.sin(0.4 * seconds + index)
    return 0.1 * swell * sum(torch.sin(6.2832 * base * k * seconds) / k for k in (1, 2, 3))


class Desk:
    def __init__(self, device):
        self.tracks = {voice: sung_part(i, device) for i, voice in enumerate(VOICES)}
        self.undo_steps = deque()
        self.done = 0
        self.undone = 0

    def apply(self, name, voice, start, stop):
        track = self.tracks[voice]
        before = track[start:stop].clone()  # grows

        def undo():
            track[start:stop] = before

        track[start:stop] = EDITS[name](before)
        self.undo_steps.append(undo)  # keeps
        self.done += 1

    def press_undo(self):
        if self.undo_steps:
            self.undo_steps.pop()()
            self.undone += 1

    def mixdown(self):
        mix = sum(self.tracks.values()) / len(self.tracks)
        rms = mix.pow(2).mean().sqrt().item()
        return 20 * torch.log10(torch.tensor(rms + 1e-9)).item()


def engineer():
    """What the engineer does next: mostly an edit of a passage, sometimes the undo key."""
    while True:
        if random.random() < 0.1:
            yield None
            continue
        length = random.choice(PASSAGE)
        start = random.randrange(0, LENGTH - length, 4096)
        yield random.choice(sorted(EDITS)), random.choice(VOICES), start, start + length


@torch.no_grad()
def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    random.seed(21)
    desk = Desk("cuda" if torch.cuda.is_available() else "cpu")
    for turn, action in enumerate(engineer()):
        if time.time() >= end:
            break
        if action is None:
            desk.press_undo()
        else:
            desk.apply(*action)
        if turn % 20 == 0:
            print(f"{desk.done} edits, {desk.undone} taken back, mix at {desk.mixdown():.1f} dB", flush=True)
        time.sleep(PACE)


if __name__ == "__main__":
    main()
