"""The bells of a town are recorded all day, and for each stroke the partials are measured: hum, prime, tierce, quint
and nominal. A look at the whole spectrum finds the strongest partial; around it the chirp z-transform computes a
fine spectrum. Its filter takes longer to make than to use, therefore the filters are cached.

ticket: practice
class: app-leak
holder: chirp lru_cache
cause: cache-without-bound
"""

import os
import random
import time
from functools import lru_cache

import cupy
import numpy as np

RATE, SAMPLES, POINTS = 16_000, 32_768, 2_048
PARTIALS = {"hum": 0.5, "prime": 1.0, "tierce": 1.2, "quint": 1.5, "nominal": 2.0}
BELLS = {"Gloriosa": 165.0, "Maria": 196.0, "Petrus": 247.0, "Susanna": 330.0}


def stroke(name):
    """A bell is struck; it is a bit flat on warm days."""
    prime = BELLS[name] * random.gauss(1.0, 0.004)
    seconds = np.arange(SAMPLES) / RATE
    sound = 0.05 * np.random.default_rng().standard_normal(SAMPLES)
    for ratio in PARTIALS.values():
        loud = random.uniform(0.4, 1.0)
        sound += loud * np.exp(-1.5 * ratio * seconds) * np.sin(2 * np.pi * prime * ratio * seconds)
    return sound


@lru_cache(maxsize=None)
def chirp(low, high):
    """What the chirp z-transform from low to high needs: chirp before, filter, chirp after."""
    size = 1 << (SAMPLES + POINTS).bit_length()
    step = (high - low) / RATE / POINTS
    places = cupy.arange(SAMPLES, dtype=cupy.float64)
    wave = cupy.exp(-1j * cupy.pi * step * places**2)
    before = wave * cupy.exp(-2j * cupy.pi * low / RATE * places)  # grows
    inverse = cupy.zeros(size, dtype=cupy.complex128)
    inverse[:POINTS] = 1 / wave[:POINTS]
    inverse[size - SAMPLES + 1 :] = 1 / wave[:0:-1]
    return before, cupy.fft.fft(inverse), wave[:POINTS].copy()  # grows


def fine_spectrum(sound, low, high):
    before, kernel, after = chirp(low, high)  # keeps
    spread = cupy.fft.fft(sound * before, len(kernel))
    return cupy.abs(cupy.fft.ifft(spread * kernel)[:POINTS] * after)


def strongest(sound):
    """The frequency of the strongest partial: coarse, then fine, with a parabola through the top."""
    window = cupy.hanning(SAMPLES)
    coarse = cupy.abs(cupy.fft.rfft(sound * window))
    top = int(coarse.argmax())
    left, middle, right = coarse[top - 1 : top + 2].tolist()
    place = top + 0.5 * (left - right) / (left - 2 * middle + right)
    centre = place * RATE / SAMPLES
    low, high = centre - 4.0, centre + 4.0
    fine = fine_spectrum(sound * window, low, high)
    return low + (high - low) * int(fine.argmax()) / POINTS


def main():
    strokes = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        name = random.choice(list(BELLS))
        frequency = strongest(cupy.asarray(stroke(name)))
        strokes += 1
        if strokes % 20 == 0:
            ratio = frequency / BELLS[name]
            partial = min(PARTIALS, key=lambda partial: abs(PARTIALS[partial] - ratio))
            print(f"{strokes} strokes, {name}: {partial} at {frequency:.2f} Hz", flush=True)
        time.sleep(random.uniform(0.08, 0.2))


if __name__ == "__main__":
    main()
