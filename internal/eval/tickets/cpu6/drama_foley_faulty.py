"""Foley mix of a live radio drama: footsteps, rain and doors on the stems of a transmitter feed.

The foley artists are synthesised, one after the other, onto eight stereo stems at 96 kHz. The stems are interleaved
onto a reel of raw samples; the transmitter takes frames of a fixed size from the reel, measures their loudness and
sends them through a limiter.

ticket: practice
class: host-growth
holder: pcm reel
cause: buffer-without-bound
"""
import os
import time

import numpy as np

RATE = 96000
STEMS = 8
BLOCK = RATE // 10
FRAME_BYTES = 4800 * STEMS * 2 * 4
SCALE = 2 ** 28


class Reel:
    """Samples between the mixing desk and the transmitter, in the order of recording."""

    def __init__(self):
        self.pcm = bytearray()
        self.cursor = 0

    def record(self, samples):
        self.pcm.extend(samples.tobytes())  # grows keeps

    def waiting(self):
        return len(self.pcm) - self.cursor

    def take(self, size):
        if self.waiting() < size:
            return None
        frame = bytes(self.pcm[self.cursor:self.cursor + size])
        self.cursor += size
        return frame


class Footsteps:
    def __init__(self, rng, pace):
        self.rng, self.period, self.phase = rng, int(RATE / pace), 0
        span = np.arange(2400, dtype=np.float32)
        self.step = np.sin(span * 0.012) * np.exp(-span / 500)

    def play(self, out):
        for start in range((-self.phase) % self.period, BLOCK - self.step.size, self.period):
            out[start:start + self.step.size] += self.step * self.rng.uniform(0.4, 0.8)
        self.phase += BLOCK


class Rain:
    def __init__(self, rng, strength):
        self.rng, self.strength = rng, strength
        self.bed = rng.standard_normal(RATE).astype(np.float32)

    def play(self, out):
        start = int(self.rng.integers(0, RATE - BLOCK))
        out += self.strength * self.bed[start:start + BLOCK]


class Door:
    def __init__(self, rng):
        self.rng = rng
        span = np.arange(BLOCK // 2, dtype=np.float32)
        self.slam = np.exp(-span / 900) * np.cos(span * 0.004 + 3 * np.exp(-span / 2000))

    def play(self, out):
        if self.rng.random() < 0.06:
            start = int(self.rng.integers(0, BLOCK - self.slam.size))
            out[start:start + self.slam.size] += 0.9 * self.slam


class Transmitter:
    """Takes frames from the reel, limits them and follows the loudness."""

    def __init__(self, reel):
        self.reel = reel
        self.level = 0.0
        self.gain = 1.0
        self.sent = 0

    def pump(self):
        while (frame := self.reel.take(FRAME_BYTES)) is not None:
            samples = np.frombuffer(frame, dtype=np.int32).astype(np.float32) / SCALE
            peak = float(np.abs(samples).max())
            self.gain = min(1.0, 0.9 / peak if peak > 0.9 else self.gain * 1.01)
            self.level = 0.95 * self.level + 0.05 * float(np.sqrt(np.mean((samples * self.gain) ** 2)))
            self.sent += 1


def mix(players, stems):
    """One tenth of a second of all stems, left and right, as integers."""
    stems.fill(0.0)
    for number, player in enumerate(players):
        left = stems[:, number, 0]
        player.play(left)
        stems[:, number, 1] = 0.7 * left
    return np.clip(stems * SCALE, -2 ** 31, 2 ** 31 - 1).astype(np.int32)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rng = np.random.default_rng(1938)
    players = [Footsteps(rng, 1.8), Footsteps(rng, 2.4), Rain(rng, 0.05), Rain(rng, 0.02), Door(rng), Door(rng)]
    reel = Reel()
    transmitter = Transmitter(reel)
    stems = np.zeros((BLOCK, STEMS, 2), dtype=np.float32)
    due, blocks = time.perf_counter(), 0
    while time.time() < end:
        reel.record(mix(players, stems))
        transmitter.pump()
        blocks += 1
        if blocks % 30 == 0:
            print(f"{blocks / 10:.0f} s of drama, {transmitter.sent} frames on air, level {transmitter.level:.4f}",
                  flush=True)
        due += 0.1
        time.sleep(max(0.0, due - time.perf_counter()))


if __name__ == "__main__":
    main()
