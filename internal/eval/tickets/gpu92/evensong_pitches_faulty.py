"""Pitch of a choir during evensong.

A microphone in the nave hands over a chunk of sound four times a second. The chunks are
joined to the recording of the evening, which begins with the sound of the rehearsal before
the service. After each chunk the latest two seconds are looked at: the strongest partial in
the range of each of the four voices, and how far the choir has sunk below the organ.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks
"""
import os
import time

import cupy as cp
import numpy as np

RATE = 16384
CHUNK = RATE // 4
REHEARSAL = 1 << 20
LOOK = 2 * RATE
RANGES = {"bass": (80, 165), "tenor": (165, 260), "alto": (260, 410), "soprano": (410, 800)}
CHORD = {"bass": 110.0, "tenor": 220.0, "alto": 330.0, "soprano": 554.4}


def sing(first, count, sinking, dice):
    """Samples of the four-part chord, `count` of them from sample number `first` on."""
    seconds = (first + np.arange(count, dtype=np.float64)) / RATE
    sound = np.zeros(count)
    for note in CHORD.values():
        sound += np.sin(2 * np.pi * note * sinking * seconds)
        sound += 0.3 * np.sin(4 * np.pi * note * sinking * seconds)
    sound += 0.2 * dice.standard_normal(count)
    return (0.1 * sound).astype(np.float32)


class Microphone:
    """Chunks in real time until the service is over."""

    def __init__(self, start, end):
        self.position = start
        self.end = end
        self.due = time.time()
        self.dice = np.random.default_rng(6)

    def __iter__(self):
        return self

    def __next__(self):
        if time.time() >= self.end:
            raise StopIteration
        time.sleep(max(0.0, self.due - time.time()))
        self.due += CHUNK / RATE
        cents = -0.4 * ((self.position - REHEARSAL) / RATE % 60)
        chunk = sing(self.position, CHUNK, 2 ** (cents / 1200), self.dice)
        self.position += CHUNK
        return cp.asarray(chunk)


class Recording:
    def __init__(self, opening):
        self.samples = cp.asarray(opening)

    def add(self, chunk):
        self.samples = cp.concatenate((self.samples, chunk))  # grows

    def latest(self, count):
        return self.samples[-count:]


class PitchWatch:
    def __init__(self):
        self.window = cp.hanning(LOOK).astype(cp.float32)
        self.cents = dict.fromkeys(RANGES, 0.0)

    def look(self, sound):
        spectrum = cp.abs(cp.fft.rfft(sound * self.window))
        for voice, (low, high) in RANGES.items():
            first, last = low * LOOK // RATE, high * LOOK // RATE
            top = first + int(cp.argmax(spectrum[first:last]))
            left, centre, right = cp.asnumpy(spectrum[top - 1:top + 2]).tolist()
            shift = 0.5 * (left - right) / (left - 2 * centre + right + 1e-12)
            pitch = (top + shift) * RATE / LOOK
            now = 1200 * float(np.log2(pitch / CHORD[voice]))
            self.cents[voice] += 0.25 * (now - self.cents[voice])
        return sum(self.cents.values()) / len(self.cents)

    def __str__(self):
        return ", ".join(f"{voice} {cents:+.1f}" for voice, cents in self.cents.items())


def rehearsal():
    """The sound of the rehearsal, made piece by piece on the host."""
    dice = np.random.default_rng(5)
    pieces = [sing(first, RATE, 1.0, dice) for first in range(0, REHEARSAL, RATE)]
    return np.concatenate(pieces)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    recording = Recording(rehearsal())
    watch = PitchWatch()
    chunks = 0
    for chunk in Microphone(REHEARSAL, end):
        recording.add(chunk)  # grows
        sunk = watch.look(recording.latest(LOOK))
        chunks += 1
        if chunks % 12 == 0:
            loudest = float(cp.abs(recording.latest(CHUNK)).max())
            print(f"chunk {chunks}: choir {sunk:+.1f} cents ({watch}), loudest {loudest:.2f}", flush=True)


if __name__ == "__main__":
    main()
