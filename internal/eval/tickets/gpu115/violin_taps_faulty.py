"""Finds the tap tones of violin plates while they are being carved.

The maker taps the plate and a microphone records the ring. The recorder hands over raw memory of the device, as its
driver does; the spectrum gives the pitch of the plate and how long it rings. Taps that are too soft say nothing and
are passed over.

ticket: practice
class: driver-growth
holder: -
cause: handle-leak
"""
import os
import time

import cupy as cp
from cupy.cuda import runtime

SECONDS = float(os.environ.get("SECONDS", "120"))
RATE = 96_000
SAMPLES = 1 << 19
SOFTEST = 0.2
TAPS_PER_PLATE = 12
PAUSE = 0.1


class Buffer:
    """Raw memory of the device with the samples of one tap."""

    def __init__(self, samples):
        self.size = samples * 4
        self.address = runtime.malloc(self.size)  # grows
        memory = cp.cuda.UnownedMemory(self.address, self.size, None)
        self.samples = cp.ndarray((samples,), dtype=cp.float32, memptr=cp.cuda.MemoryPointer(memory, 0))

    def release(self):
        self.samples = None
        runtime.free(self.address)
        self.address = 0


class Microphone:
    """Makes the ring of a plate that the maker has tapped."""

    def __init__(self, seed):
        self.random = cp.random.RandomState(seed)
        self.clock = cp.arange(SAMPLES, dtype=cp.float32) / cp.float32(RATE)
        self.pitch = 350.0
        self.count = 0

    def carve(self):
        self.pitch = max(250.0, self.pitch - 0.5)

    def record(self):
        self.count += 1
        force = (self.count * 37 % 100) / 100.0 * 0.6
        buffer = Buffer(SAMPLES)
        ring = cp.sin(cp.float32(6.2831853 * self.pitch) * self.clock)
        ring *= cp.exp(self.clock * cp.float32(-3.0))
        ring *= cp.float32(force)
        ring += self.random.standard_normal(SAMPLES, dtype=cp.float32) * cp.float32(0.01)
        buffer.samples[...] = ring
        return buffer


class TapAnalyser:
    """Pitch and damping from the ring of a tap."""

    def __init__(self):
        self.heard = 0
        self.soft = 0
        self.pitch = float("nan")
        self.fade = float("nan")

    def analyse(self, buffer):
        peak = float(cp.abs(buffer.samples).max())
        if peak < SOFTEST:
            self.soft += 1
            return False
        spectrum = cp.abs(cp.fft.rfft(buffer.samples))
        self.pitch = float(cp.argmax(spectrum)) * RATE / SAMPLES
        half = SAMPLES // 2
        first = float(cp.square(buffer.samples[:half]).mean())
        second = float(cp.square(buffer.samples[half:]).mean())
        self.fade = second / first
        self.heard += 1
        buffer.release()
        return True


class Bench:
    def __init__(self):
        self.microphone = Microphone(seed=1715)
        self.analyser = TapAnalyser()
        self.plates = 0
        self.good = 0

    def tap(self):
        buffer = self.microphone.record()
        if self.analyser.analyse(buffer):
            self.good += 1
        if self.good >= TAPS_PER_PLATE:
            self.good = 0
            self.plates += 1
            self.microphone.carve()


def main():
    bench = Bench()
    began = time.monotonic()
    spoken = began
    while time.monotonic() - began < SECONDS:
        bench.tap()
        if time.monotonic() - spoken >= 3.0:
            spoken = time.monotonic()
            ear = bench.analyser
            print(f"plate {bench.plates}: pitch {ear.pitch:.2f} Hz, fade {ear.fade:.3f}, "
                  f"{ear.heard} heard, {ear.soft} too soft", flush=True)
        time.sleep(PAUSE)
    print(f"bench cleared: {bench.plates} plates, {bench.analyser.heard} taps heard", flush=True)


if __name__ == "__main__":
    main()
