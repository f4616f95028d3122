"""Listening station for the chimes of clock towers (JAX).

Microphones in the belfries send a block of sound for every quarter that is struck. The station
turns each block into a spectrogram at once and puts it by. At fixed times a tuner takes the
spectrograms that wait, batch by batch, and finds which bells have drifted from their note.

ticket: practice
class: app-leak
holder: _backlog
cause: unbounded-queue
"""
import os
import time
from collections import deque
from functools import partial

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
TUNE_EVERY = 4.0
BATCH = 16
FRAMES = 256
WINDOW = 2048
BINS = 1024
BELLS = 12


@partial(jax.jit, static_argnames=("frames", "window"))
def strike(key, pitch, frames, window):
    """The sound of one quarter: a few decaying partials and the noise of the street."""
    clock = jnp.arange(frames * window, dtype=jnp.float32) / (frames * window)
    partials = jnp.array([0.5, 1.0, 1.2, 1.5, 2.0]) * pitch
    tones = jnp.sin(6.2832 * 4000.0 * partials[:, None] * clock[None, :]).sum(axis=0)
    noise = 0.1 * jax.random.normal(key, (frames * window,))
    return tones * jnp.exp(-3.0 * clock) + noise


@jax.jit
def spectrogram(block):
    framed = block.reshape(FRAMES, WINDOW)
    return jnp.log1p(jnp.abs(jnp.fft.rfft(framed, axis=1)[:, :BINS]))


@jax.jit
def strongest_bin(spectrum):
    return jnp.argmax(spectrum.mean(axis=0))


class Belfry:
    """Strikes the quarters of the towers in turn."""

    def __init__(self, seed):
        self.key = jax.random.PRNGKey(seed)
        self.struck = 0

    def quarter(self):
        self.key, part = jax.random.split(self.key)
        bell = self.struck % BELLS
        self.struck += 1
        pitch = jnp.float32(1.0 + bell / BELLS)
        return bell, strike(part, pitch, FRAMES, WINDOW)


class Tuner:
    """Compares the bells with the note that they had when first heard."""

    def __init__(self):
        self.notes = {}
        self.heard = 0
        self.drifted = 0

    def tune(self, batch):
        for bell, spectrum in batch:
            note = int(strongest_bin(spectrum))
            expected = self.notes.setdefault(bell, note)
            self.heard += 1
            if abs(note - expected) > 2:
                self.drifted += 1


class Station:
    def __init__(self, belfry, tuner):
        self.belfry = belfry
        self.tuner = tuner
        self._backlog = deque()

    def listen(self):
        bell, block = self.belfry.quarter()
        spectrum = spectrogram(block)  # grows
        self._backlog.append((bell, spectrum))  # keeps

    def next_batch(self):
        size = min(BATCH, len(self._backlog))
        return [self._backlog.popleft() for _ in range(size)]

    def tune(self):
        if self._backlog:
            self.tuner.tune(self.next_batch())


def main():
    station = Station(Belfry(seed=15), Tuner())
    tuner = station.tuner
    start = time.monotonic()
    next_tuning = TUNE_EVERY
    last_line = start
    index = 0
    while time.monotonic() - start < SECONDS:
        station.listen()
        if time.monotonic() - start >= next_tuning:
            next_tuning += TUNE_EVERY
            station.tune()
        index += 1
        now = time.monotonic()
        if now - last_line >= 3.0:
            last_line = now
            print(f"{now - start:6.1f} s  quarters {station.belfry.struck}  tuned {tuner.heard}"
                  f"  bells known {len(tuner.notes)}  drifted {tuner.drifted}", flush=True)
        time.sleep(max(0.0, start + index / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"station ends, {station.belfry.struck} quarters struck, {tuner.drifted} bells drifted", flush=True)


if __name__ == "__main__":
    main()
