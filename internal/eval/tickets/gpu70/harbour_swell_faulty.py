"""The water of a harbour is drawn for a film: a spectrum of Phillips says how high each wave is in the wind of the
moment, and an inverse Fourier transform makes the heights of a frame from it. The wind comes in gusts. A spectrum costs
much more than a frame, so it is made once for each wind.

ticket: practice
class: app-leak
holder: spectra sea Sea
cause: cache-without-bound
"""

import math
import os
import random
import time

import jax
import jax.numpy as jnp

SIDE, LENGTH, GRAVITY = 512, 400.0, 9.81


def waves():
    line = 2 * math.pi * jnp.fft.fftfreq(SIDE, LENGTH / SIDE)
    return jnp.meshgrid(line, line, indexing="ij")


@jax.jit
def amplitudes(key, speed, heading):
    """How high each wave is, and its phase at the beginning."""
    east, north = waves()
    number = jnp.maximum(jnp.hypot(east, north), 1e-4)
    longest = speed**2 / GRAVITY
    along = (east * jnp.cos(heading) + north * jnp.sin(heading)) / number
    power = 1e-3 * jnp.exp(-1 / (number * longest) ** 2) / number**4 * along**2
    power = jnp.where(number > 1e-3, power * jnp.exp(-((0.3 * number) ** 2)), 0)
    real, imaginary = jax.random.normal(key, (2, SIDE, SIDE))
    return jnp.sqrt(power / 2) * (real + 1j * imaginary)


@jax.jit
def heights(spectrum, moment):
    east, north = waves()
    turned = spectrum * jnp.exp(1j * jnp.sqrt(GRAVITY * jnp.hypot(east, north)) * moment)
    return jnp.fft.ifft2(turned).real * SIDE


class Wind:
    """Blows on for some frames, then another gust comes."""

    def __init__(self):
        self.speed, self.heading, self.left = 8.0, 0.4, 0

    def blow(self):
        if self.left == 0:
            self.speed = min(20.0, max(3.0, self.speed + random.gauss(0, 0.8)))
            self.heading += random.gauss(0, 0.1)
            self.left = random.randint(2, 6)
        self.left -= 1
        return self.speed, self.heading


class Sea:
    def __init__(self):
        self.key = jax.random.PRNGKey(3)
        self.spectra = {}

    def spectrum(self, wind):
        if wind not in self.spectra:
            self.spectra[wind] = amplitudes(self.key, *wind)  # grows keeps
        return self.spectra[wind]

    def frame(self, wind, moment):
        return heights(self.spectrum(wind), moment)


def main():
    sea, wind, frames, crest = Sea(), Wind(), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        surface = sea.frame(wind.blow(), frames / 25)
        crest = max(crest, float(surface.max()))
        frames += 1
        if frames % 50 == 0:
            print(f"{frames} frames, wind {wind.speed:.1f} m/s, highest crest {crest:.2f}", flush=True)
        time.sleep(0.03)


if __name__ == "__main__":
    main()
