"""How many people will ride the trams in the next hours? A small network learns that while the counts come in, and
gives a band in which nine of ten counts should lie. The band is taken from the errors of the last steps, which the
compiled step hands to the host by a callback.

ticket: practice
class: host-growth
holder: errors Band
cause: buffer-without-bound results-kept
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

STOPS, PAST, AHEAD, WIDTH, RECENT = 3_000, 24, 48, 64, 12


class Band:
    """Keeps errors of forecasts and says how wide the band around the next one must be."""

    def __init__(self, share=0.9):
        self.share, self.errors = share, []

    def note(self, error):
        self.errors.append(np.array(error))  # grows keeps

    def width(self):
        recent = np.abs(np.stack(self.errors[-RECENT:]))
        return np.quantile(recent[:, ::50], self.share, axis=(0, 1))


class City:
    """Counts with a daily rhythm that differs from stop to stop."""

    def __init__(self):
        self.noise = np.random.default_rng(3)
        self.phase = self.noise.uniform(0, 6, size=(STOPS, 1))
        self.size = self.noise.uniform(0.5, 1.5, size=(STOPS, 1))
        self.hour = 0

    def counts(self):
        """The counts of the past hours, and of those ahead of them."""
        hours = self.hour + np.arange(PAST + AHEAD)
        self.hour += 1
        counts = self.size * (1 + np.sin(hours * np.pi / 12 + self.phase))
        counts = (counts + 0.1 * self.noise.normal(size=counts.shape)).astype(np.float32)
        return counts[:, :PAST], counts[:, PAST:]


def weights(key):
    first, second = jax.random.split(key)
    return {
        "in": jax.random.normal(first, (PAST, WIDTH)) / PAST**0.5,
        "bias": jnp.zeros(WIDTH),
        "out": jax.random.normal(second, (WIDTH, AHEAD)) / WIDTH**0.5,
    }


def make_step(band, rate=0.05):
    def loss(params, past, ahead):
        error = jnp.tanh(past @ params["in"] + params["bias"]) @ params["out"] - ahead
        return jnp.mean(error**2), error

    @jax.jit
    def step(params, past, ahead):
        (value, error), slopes = jax.value_and_grad(loss, has_aux=True)(params, past, ahead)
        jax.debug.callback(band.note, error)
        return jax.tree_util.tree_map(lambda weight, slope: weight - rate * slope, params, slopes), value

    return step


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    city, band, steps = City(), Band(), 0
    params, step = weights(jax.random.PRNGKey(3)), make_step(band)
    while time.time() < end:
        params, value = step(params, *city.counts())
        steps += 1
        if steps % 20 == 0:
            jax.effects_barrier()
            width = band.width()
            print(f"hour {city.hour}: loss {float(value):.3f}, band {width[0]:.2f} to {width[-1]:.2f}", flush=True)
        time.sleep(random.uniform(0.08, 0.2))


if __name__ == "__main__":
    main()
