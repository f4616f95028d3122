"""A sonar maps a forest of kelp. Each ping is put into a buffer of plain device memory, as the maker's decoder wants
it, compressed by a matched filter and turned into a profile of depths. A ping whose trailer does not fit was cut off
on the cable and is left out.

ticket: practice
class: driver-growth
holder: -
cause: driver-memory-kept handle-leak
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime

SAMPLES, PULSE, DEPTHS = 1 << 20, 4096, 256
TRAILER = 0x5EA


class CutOff(ValueError):
    """A ping that did not come whole."""


class Decoder:
    """Matched filtering of pings in buffers of its own."""

    def __init__(self):
        ramp = np.linspace(0, 60 * np.pi, PULSE)
        pulse = np.zeros(SAMPLES, dtype=np.float32)
        pulse[:PULSE] = np.sin(ramp * ramp / 40)
        self.filter = cp.conj(cp.fft.rfft(cp.asarray(pulse)))

    def buffer(self, ping):
        """The ping in device memory, and the pointer to that."""
        pointer = runtime.malloc(ping.nbytes)  # grows keeps
        memory = cp.cuda.UnownedMemory(pointer, ping.nbytes, self)
        samples = cp.ndarray(ping.shape, ping.dtype, cp.cuda.MemoryPointer(memory, 0))
        samples.set(ping)
        return pointer, samples

    def check(self, samples):
        """The sum of the samples' whole parts is sent modulo 4096 in the last sample."""
        wanted = int(cp.rint(samples[:-1]).astype(cp.int64).sum()) % 4096
        if int(samples[-1]) != wanted ^ TRAILER:
            raise CutOff(f"trailer {int(samples[-1])} instead of {wanted ^ TRAILER}")

    def profile(self, ping):
        """The strength of the echo by depth."""
        pointer, samples = self.buffer(ping)
        self.check(samples)
        echo = cp.fft.irfft(cp.fft.rfft(samples) * self.filter, n=SAMPLES)
        strength = cp.absolute(echo).reshape(DEPTHS, -1).mean(axis=1).get()
        runtime.free(pointer)
        return strength


def listen(noise):
    """The next ping from the cable; some are cut off."""
    ping = np.roll(noise, random.randrange(SAMPLES))
    place = random.randrange(SAMPLES - 2 * PULSE)
    ping[place : place + PULSE] += 20
    ping[-1] = (int(np.rint(ping[:-1]).astype(np.int64).sum()) % 4096) ^ TRAILER
    if random.random() < 0.25:
        ping[random.randrange(SAMPLES // 2, SAMPLES - 1) :] = 0
    return ping


def main():
    decoder = Decoder()
    noise = (5 * np.random.randn(SAMPLES)).astype(np.float32)
    mean, whole, cut = np.zeros(DEPTHS), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        try:
            mean += decoder.profile(listen(noise))
            whole += 1
        except CutOff:
            cut += 1
        if (whole + cut) % 50 == 0:
            deepest = int(mean.argmax())
            print(f"{whole} pings, {cut} cut off, strongest at {deepest} of {DEPTHS}", flush=True)
        time.sleep(random.uniform(0.03, 0.08))


if __name__ == "__main__":
    main()
