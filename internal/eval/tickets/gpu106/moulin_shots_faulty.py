"""Seismic shots around a moulin of a glacier.

Geophones lie on the ice around the shaft by which meltwater falls to the bed. Small charges are fired one after the
other, and the traces of each shot come to the device as raw samples, where they are filtered and stacked to an image
of the ice beneath. A shot whose traces hit the rails of the recorder is put aside.

ticket: practice
class: driver-growth
holder: -
cause: handle-leak
"""
import os
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime

SECONDS = float(os.environ.get("SECONDS", "120"))
GEOPHONES = 256
SAMPLES = 2048
SHOTS_A_SECOND = 9.0
RAIL = 3.9
TRACE_BYTES = GEOPHONES * SAMPLES * 4
DEPTHS = 512


class TraceBlock:
    """The traces of one shot, in a block of the device that the recorder writes into directly."""

    def __init__(self):
        self.address = runtime.malloc(TRACE_BYTES)  # grows

    def write(self, samples):
        runtime.memcpy(self.address, samples.ctypes.data, TRACE_BYTES, runtime.memcpyHostToDevice)

    def samples(self):
        memory = cp.cuda.UnownedMemory(self.address, TRACE_BYTES, self)
        return cp.ndarray((GEOPHONES, SAMPLES), dtype=cp.float32, memptr=cp.cuda.MemoryPointer(memory, 0))

    def release(self):
        cp.cuda.Stream.null.synchronize()
        runtime.free(self.address)
        self.address = 0


class Recorder:
    """Fires charges: a direct wave, an echo from the bed and noise; some charges are too strong."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.clock = np.arange(SAMPLES, dtype=np.float32)[None, :]
        self.offset = np.abs(np.arange(GEOPHONES, dtype=np.float32) - GEOPHONES / 2.0)[:, None]
        self.noise = self.rng.standard_normal((4, GEOPHONES, SAMPLES)).astype(np.float32) * 0.1

    def fire(self):
        strength = 5.0 if self.rng.random() < 0.4 else float(self.rng.uniform(0.8, 2.5))
        bed = float(self.rng.uniform(700.0, 720.0))
        direct = np.exp(-np.square((self.clock - 40.0 - 3.0 * self.offset) / 9.0))
        echo = 0.4 * np.exp(-np.square((self.clock - np.sqrt(bed * bed + 9.0 * self.offset ** 2)) / 12.0))
        traces = strength * (direct + echo) + self.noise[int(self.rng.integers(4))]
        return np.ascontiguousarray(np.clip(traces, -RAIL, RAIL), dtype=np.float32)


class IceImage:
    """A stack of the traces, each shifted by how far its geophone lies from the shot."""

    def __init__(self):
        depth = cp.arange(DEPTHS, dtype=cp.float32)[None, :] * 3.0 + 200.0
        offset = cp.absolute(cp.arange(GEOPHONES, dtype=cp.float32) - GEOPHONES / 2.0)[:, None]
        arrival = cp.sqrt(depth * depth + 9.0 * offset * offset)
        self.index = cp.minimum(arrival, SAMPLES - 1).astype(cp.int32)
        self.stack = cp.zeros((GEOPHONES, DEPTHS), dtype=cp.float32)
        self.shots = 0

    def add(self, traces):
        smooth = (traces[:, 2:] + 2.0 * traces[:, 1:-1] + traces[:, :-2]) * 0.25
        centred = smooth - smooth.mean(axis=1, keepdims=True)
        self.stack += cp.take_along_axis(centred, cp.minimum(self.index, SAMPLES - 3), axis=1)
        self.shots += 1

    def bed_depth(self):
        profile = self.stack.sum(axis=0)
        return float(cp.argmax(profile)) * 3.0 + 200.0


class ShotLine:
    def __init__(self, seed):
        self.recorder = Recorder(seed)
        self.image = IceImage()
        self.fired = 0
        self.clipped = 0

    def shoot(self):
        self.fired += 1
        trace = TraceBlock()
        trace.write(self.recorder.fire())
        samples = trace.samples()
        if float(cp.absolute(samples).max()) >= RAIL:
            self.clipped += 1
            return False
        self.image.add(samples)
        trace.release()
        return True


def main():
    line = ShotLine(seed=27)
    begun = time.monotonic()
    told = begun
    while time.monotonic() - begun < SECONDS:
        round_begun = time.monotonic()
        line.shoot()
        if round_begun - told > 2.0:
            told = round_begun
            print(f"shot {line.fired}: {line.image.shots} stacked, {line.clipped} put aside, "
                  f"bed at {line.image.bed_depth():.0f}", flush=True)
        time.sleep(max(0.01, 1.0 / SHOTS_A_SECOND - (time.monotonic() - round_begun)))
    print(f"done: {line.fired} shots, {line.image.shots} stacked, bed at {line.image.bed_depth():.0f}", flush=True)


if __name__ == "__main__":
    main()
