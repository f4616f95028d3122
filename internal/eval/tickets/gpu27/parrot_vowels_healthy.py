"""Parrots say vowels, and a small JAX model learns which. Large and small parrots have throats of another length, so
each batch is heard with mel filters that are warped by a random factor. Filters are slow to build, and the last few are
remembered; the check after every ten batches uses the filters without a warp.

ticket: practice
class: none
"""

import functools
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

RATE, WINDOW, FRAMES, BATCH = 16_000, 4_096, 24, 8
MELS, VOWELS = 128, 6
BINS = WINDOW // 2 + 1


@functools.lru_cache(maxsize=16)
def filters(warp):
    """Triangles on the mel scale, with all frequencies times the warp."""
    top = 2595 * np.log10(1 + RATE / 2 / 700)
    corners = 700 * (10 ** (np.linspace(0, top, MELS + 2) / 2595) - 1) * warp
    hertz = np.linspace(0, RATE / 2, BINS)
    low, middle, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    rising, falling = (hertz - low) / (middle - low), (high - hertz) / (high - middle)
    bank = np.maximum(0, np.minimum(rising, falling)).astype(np.float32)
    return jnp.array(bank)


def say(rng):
    """Recordings of vowels, cut into windows."""
    vowels = rng.integers(VOWELS, size=BATCH)
    seconds = np.arange(WINDOW * FRAMES, dtype=np.float32) / RATE
    size = rng.uniform(0.9, 1.1, (BATCH, 1)).astype(np.float32)
    formants = ((300 + 130 * vowels)[:, None] * size).astype(np.float32)
    waves = np.sin(6.2832 * formants * seconds) + 0.5 * np.sin(15.0 * formants * seconds)
    waves += 0.1 * rng.standard_normal(waves.shape, dtype=np.float32)
    return waves.reshape(BATCH, FRAMES, WINDOW).astype(np.float32), vowels.astype(np.int32)


def loss(weights, windows, bank, vowels):
    power = jnp.abs(jnp.fft.rfft(windows * jnp.hanning(WINDOW))) ** 2
    mels = jnp.log(power @ bank.T + 1e-3).mean(axis=1)
    hidden = jnp.tanh(mels @ weights["in"])
    scores = jax.nn.log_softmax(hidden @ weights["out"])
    return -jnp.take_along_axis(scores, vowels[:, None], axis=1).mean()


@jax.jit
def learn(weights, windows, bank, vowels):
    value, slopes = jax.value_and_grad(loss)(weights, windows, bank, vowels)
    return value, jax.tree_util.tree_map(lambda weight, slope: weight - 0.01 * slope, weights, slopes)


def main():
    rng = np.random.default_rng(8)
    weights = {
        "in": jnp.array(0.05 * rng.standard_normal((MELS, 64)), jnp.float32),
        "out": jnp.array(0.1 * rng.standard_normal((64, VOWELS)), jnp.float32),
    }
    check, batch = jax.jit(loss), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        windows, vowels = say(rng)
        warp = random.uniform(0.85, 1.15)
        value, weights = learn(weights, windows, filters(warp), vowels)
        batch += 1
        if batch % 10 == 0:
            windows, vowels = say(rng)
            plain = float(check(weights, windows, filters(1.0), vowels))
            print(f"batch {batch}: loss {float(value):.3f} with warp {warp:.2f}, {plain:.3f} without", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
