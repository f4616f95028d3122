"""Musicians send dry recordings and hear how they would sound in a chapel. Each recording is convolved with the echo of
the room at the listener's seat; the spectrum of an echo costs more than the rest, therefore it is cached by room and
distance from the stage. The common seats are made ready before the doors open.

ticket: practice
class: app-leak
holder: spectrum lru_cache _lru_cache_wrapper
cause: cache-without-bound results-kept
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import cupy as cp
import numpy as np

RATE, FRAMES = 24_000, 1 << 17
ROOMS = {"crypt": 0.6, "nave": 2.4, "choir": 1.5, "tower": 3.1}
NEAREST, FARTHEST = 4, 24


@dataclass
class Job:
    room: str
    distance: float
    sound: np.ndarray


@lru_cache(maxsize=None)
def spectrum(room, distance):
    """The spectrum of the echo of a room, so many metres from the stage."""
    rng = np.random.default_rng(sorted(ROOMS).index(room))
    frames = int(RATE * ROOMS[room])
    noise = cp.asarray(rng.standard_normal(frames).astype(np.float32))
    seconds = cp.arange(frames, dtype=cp.float32) / RATE
    echo = noise * cp.exp(-6.9 * seconds / ROOMS[room]) * min(1.0, distance / 20)
    echo[int(distance / 343 * RATE)] += 4 / distance
    return cp.fft.rfft(echo, n=FRAMES)  # grows keeps


class Studio:
    def __init__(self):
        self.workers = ThreadPoolExecutor(2, thread_name_prefix="convolver")
        self.done = 0
        for room in ROOMS:
            for distance in range(NEAREST, FARTHEST + 1, 4):
                spectrum(room, distance)

    def render(self, job):
        wet = cp.fft.rfft(cp.asarray(job.sound), n=FRAMES) * spectrum(job.room, job.distance)
        sound = cp.fft.irfft(wet, n=FRAMES)
        return float(cp.abs(sound).max())

    def serve(self, jobs):
        """Renders jobs side by side and returns the peak of each."""
        peaks = list(self.workers.map(self.render, jobs))
        self.done += len(peaks)
        return peaks

    def close(self):
        self.workers.shutdown()


def arrivals():
    """Jobs that came in since the last look: each from a seat that a visitor tapped on the plan."""
    for _ in range(random.randint(1, 5)):
        frames = random.choice((RATE, 2 * RATE, 3 * RATE))
        sound = np.random.standard_normal(frames).astype(np.float32)
        yield Job(random.choice(list(ROOMS)), random.uniform(NEAREST, FARTHEST), sound)


def main():
    studio, rounds = Studio(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        peaks = studio.serve(arrivals())
        rounds += 1
        if rounds % 20 == 0:
            print(f"{studio.done} recordings, last peaks", [round(peak, 2) for peak in peaks], flush=True)
        time.sleep(random.uniform(0.1, 0.3))
    studio.close()


if __name__ == "__main__":
    main()
