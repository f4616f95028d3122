"""Cleans the sound of court sittings so that the stenographers can follow them.

The courthouse has four courtrooms with twelve microphones each. A sitting brings a few stretches of sound, which
are lifted out of the hum of the building: the slow part is taken away, the bursts are flattened, quiet stretches
are gated, and the twelve tracks are mixed by their liveliness into the one that goes to the headphones. The work
is queued on separate lines, so that a long sitting does not hold up the others.

ticket: practice
class: pool-growth
holder: -
cause: pool-for-each-stream
"""
import contextlib
import os
import time
from collections import deque

import numpy as np

try:
    import cupy as cp

    ON_GPU = cp.cuda.runtime.getDeviceCount() > 0
except Exception:
    cp = None
    ON_GPU = False

xp = cp if ON_GPU else np
ROOMS = 4
MICROPHONES = 12
SAMPLES = 65536
STRETCHES = 4
BEAT = 0.15
HUM = 32


class Courthouse:
    """The sound that the rooms send, made from a voice, the hum of the building and some noise."""

    def __init__(self):
        self.rng = np.random.default_rng(41)
        clock = np.arange(SAMPLES, dtype=np.float32) / 16000.0
        self.voice = np.sin(2 * np.pi * 170.0 * clock) * (np.sin(2 * np.pi * 1.3 * clock) > 0)
        self.hum = 0.4 * np.sin(2 * np.pi * 50.0 * clock)
        self.noise = self.rng.standard_normal((MICROPHONES, SAMPLES), dtype=np.float32)

    def stretch(self):
        near = self.rng.random((MICROPHONES, 1), dtype=np.float32)
        roll = int(self.rng.integers(SAMPLES))
        sound = near * self.voice[None] + self.hum[None] + 0.1 * np.roll(self.noise, roll, axis=1)
        return sound.astype(np.float32)


class Desk:
    """The mixing desk: every stretch of every sitting passes over it."""

    def __init__(self):
        self.lines = {}
        self.heard = deque(maxlen=40)

    def line(self, room, sitting):
        if not ON_GPU:
            return contextlib.nullcontext()
        if sitting not in self.lines:
            self.lines[sitting] = cp.cuda.Stream(non_blocking=True)  # keeps
        return self.lines[sitting]

    def clean(self, sound):
        tracks = xp.asarray(sound)  # grows
        blocks = tracks.reshape(MICROPHONES, SAMPLES // HUM, HUM)
        slow = blocks.mean(axis=2, keepdims=True)
        lifted = blocks - slow
        flat = lifted / (1.0 + xp.abs(lifted))
        level = xp.abs(flat).mean(axis=2, keepdims=True)
        gated = xp.where(level > 0.05, flat, 0.1 * flat)
        lively = gated.std(axis=(1, 2))
        share = lively / (lively.sum() + 1e-6)
        mixed = (gated * share[:, None, None]).sum(axis=0)
        return mixed.reshape(SAMPLES), share

    def sit(self, room, sitting, sound):
        line = self.line(room, sitting)
        with line:
            mixed, share = self.clean(sound)
            if ON_GPU:
                line.synchronize()
                mixed, share = cp.asnumpy(mixed), cp.asnumpy(share)
        loudest = int(share.argmax())
        self.heard.append((room, sitting, loudest, float(np.abs(mixed).mean())))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    courthouse = Courthouse()
    desk = Desk()
    sitting = 0
    stretches = 0
    print("desk open on the " + ("graphics card" if ON_GPU else "processor"), flush=True)
    while time.time() < end:
        room = sitting % ROOMS
        for _ in range(STRETCHES):
            began = time.time()
            desk.sit(room, sitting, courthouse.stretch())
            stretches += 1
            time.sleep(max(0.0, BEAT - (time.time() - began)))
            if time.time() >= end:
                break
        sitting += 1
        if sitting % 10 == 0:
            _, _, loudest, level = desk.heard[-1]
            print(
                f"sitting {sitting} in room {room}: microphone {loudest} leads, level {level:.4f},"
                f" {stretches} stretches so far",
                flush=True,
            )
    print(f"{sitting} sittings, {stretches} stretches cleaned", flush=True)


if __name__ == "__main__":
    main()
