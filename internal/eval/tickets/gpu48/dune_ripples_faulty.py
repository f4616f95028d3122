"""Lets the wind make ripples in a field of sand. The shear of the wind comes from an old routine on the host, which is
called from the compiled step; as a step that was too long is tried again from the same field, the routine's answers
are remembered by field.

ticket: practice
class: host-growth
holder: answers Wind
cause: cache-without-bound
"""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

ROWS, COLUMNS = 160, 256
SHAPE = jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32)
TOO_MUCH, SETTLE = 0.05, 0.1


class Wind:
    """The routine on the host: the shear over a field, by Fourier transform."""

    def __init__(self):
        along = np.fft.rfftfreq(COLUMNS)[None, :]
        across = np.fft.fftfreq(ROWS)[:, None]
        size = np.sqrt(along**2 + across**2)
        size[0, 0] = 1.0
        self.response = (along**2 / size) * (3.0 + 1.0j)
        self.answers, self.hits = {}, 0

    def shear(self, field):
        field = np.asarray(field)
        key = field.tobytes()  # grows
        if key in self.answers:
            self.hits += 1
            return self.answers[key]
        answer = np.fft.irfft2(np.fft.rfft2(field) * self.response, s=field.shape).astype(np.float32)  # grows
        self.answers[key] = answer  # keeps
        return answer


def make_step(wind):
    def change(field):
        shear = jax.pure_callback(wind.shear, SHAPE, field)
        flux = jnp.maximum(1.0 + shear, 0.0) ** 1.5
        slopes = sum(jnp.roll(field, by, axis) for by in (-1, 1) for axis in (0, 1)) - 4 * field
        return jnp.roll(flux, 1, axis=1) - flux + SETTLE * slopes

    @jax.jit
    def step(field, length):
        """Heun's step, and how far its two halves are apart."""
        first = change(field)
        second = change(field + length * first)
        moved = 0.5 * length * (first + second)
        return field + moved, jnp.max(jnp.abs(first - second)) * length

    return step


def main():
    wind = Wind()
    step = make_step(wind)
    key = jax.random.key(3)
    field, length = 0.1 * jax.random.normal(key, (ROWS, COLUMNS)), 0.3
    steps = again = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        moved, apart = step(field, length)
        if float(apart) > TOO_MUCH and length > 0.01:
            length, again = 0.6 * length, again + 1
            continue
        field, length = moved - jnp.mean(moved), min(1.1 * length, 0.5)
        if steps % 50 == 0:
            key, gust = jax.random.split(key)
            field = field + 0.02 * jax.random.normal(gust, field.shape)
            high = float(jnp.max(field) - jnp.min(field))
            print(f"step {steps}: {high:.3f} high, {again} tried again, {wind.hits} remembered", flush=True)
        field = jnp.clip(field, -3.0, 3.0)
        steps += 1
        time.sleep(0.03)


if __name__ == "__main__":
    main()
