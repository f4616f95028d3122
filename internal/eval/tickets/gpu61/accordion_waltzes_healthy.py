"""A small network composes accordion waltzes, each with its own tempo and number of bars, and writes them out as
sound files. A finished waltz leaves the device by way of page-locked memory, which is far faster than the ordinary
kind but slow to get, so one staging buffer with room for the longest is used again and again.

ticket: practice
class: none
"""

import os
import random
import time
import wave

import torch
from torch import nn

RATE, CHANNELS, PITCHES = 22_050, 2, 40
LONGEST = 3 * 36 * 60 * RATE // 140


class Composer(nn.Module):
    """Draws a chord for each beat from the chord before it."""

    def __init__(self):
        super().__init__()
        self.memory = nn.GRUCell(PITCHES, 64)
        self.chord = nn.Linear(64, PITCHES)

    def forward(self, beats):
        chord = torch.zeros(1, PITCHES, device=self.chord.weight.device)
        state, chords = None, []
        for _ in range(beats):
            state = self.memory(chord, state)
            chord = torch.bernoulli(torch.sigmoid(self.chord(state) - 1.5))
            chords.append(chord)
        return torch.cat(chords)


class Reeds(nn.Module):
    """Turns chords into sound, with the two sides of the instrument slightly out of tune."""

    def __init__(self):
        super().__init__()
        tones = 110.0 * 2 ** (torch.arange(PITCHES) / 12)
        self.register_buffer("tones", torch.stack([tones, tones * 1.004]))

    def forward(self, chords, samples):
        seconds = torch.arange(samples, device=chords.device) / RATE
        beat = torch.arange(samples, device=chords.device) * len(chords) // samples
        sound = torch.zeros(CHANNELS, samples, device=chords.device)
        for pitch in random.sample(range(PITCHES), 6):
            loud = chords[:, pitch][beat]
            sound += loud * torch.sin(2 * torch.pi * self.tones[:, pitch, None] * seconds)
        return (sound / 6).clamp(-1, 1)


class Staging:
    """Page-locked memory that a waltz passes through on its way to the disk."""

    def __init__(self, pinned):
        self.buffer = torch.empty(CHANNELS * LONGEST, pin_memory=pinned)

    def room(self, samples):
        return self.buffer[: CHANNELS * samples].view(CHANNELS, samples)


def write(path, sound):
    with wave.open(path, "wb") as file:
        file.setnchannels(CHANNELS)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((sound.T.numpy() * 32_767).astype("<i2").tobytes())


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    composer, reeds = Composer().to(device), Reeds().to(device)
    staging, written = Staging(pinned=device == "cuda"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        bars, tempo = random.randint(10, 36), random.uniform(140, 200)
        chords = composer(3 * bars)
        samples = int(3 * bars * 60 / tempo * RATE)
        room = staging.room(samples)
        room.copy_(reeds(chords, samples), non_blocking=True)
        if device == "cuda":
            torch.cuda.synchronize()
        write(os.devnull, room)
        written += 1
        if written % 10 == 0:
            print(f"{written} waltzes, the last of {bars} bars at {tempo:.0f}, {samples / RATE:.1f} s", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
