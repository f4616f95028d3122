"""Let bark beetles fly through a spruce forest and see which stands they take.

The forest is a square grid of stands with a share of host trees in each. Beetles hatch, drift with the wind and
settle: how far they drift is a kernel that is stretched along the wind, and spreading them is a multiplication with
the kernel's spectrum. The weather mast gives a reading of the wind now and then, and each reading holds for
three flights. Trees that are attacked by enough beetles die and feed the next brood; the forest grows back slowly.
The number of beetles and the share of living hosts are printed as the seasons go by.

ticket: practice
class: app-leak
holder: drift_spectrum
cause: cache-without-bound
"""
import functools
import math
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

GRID = 768
FLIGHTS_PER_READING = 3


@jax.jit
def spectrum_of(speed, bearing):
    """The spectrum of the drift's kernel for one wind, with the kernel's middle at the grid's corner."""
    line = jnp.fft.fftfreq(GRID) * GRID
    y = line[:, None]
    x = line[None, :]
    down = x * jnp.cos(bearing) + y * jnp.sin(bearing)
    side = y * jnp.cos(bearing) - x * jnp.sin(bearing)
    reach = 3.0 + 2.5 * speed
    kernel = jnp.exp(-0.5 * ((down - reach) / reach) ** 2 - 0.5 * (side / 4.0) ** 2)
    return jnp.fft.rfft2(kernel / kernel.sum())


@functools.lru_cache(maxsize=None)  # keeps
def drift_spectrum(speed, bearing):
    return spectrum_of(speed, bearing)  # grows


@jax.jit
def fly(beetles, hosts, spectrum):
    """One flight: drift, settle, attack, breed."""
    spread = jnp.fft.irfft2(jnp.fft.rfft2(beetles) * spectrum, s=(GRID, GRID))
    spread = jnp.maximum(spread, 0.0)
    attack = spread ** 2 / (spread ** 2 + 0.01)
    killed = 0.35 * attack * hosts
    brood = 0.002 + 0.3 * spread + 6.0 * killed
    hosts = hosts - killed + 0.02 * (1.0 - hosts)
    return jnp.minimum(brood, 50.0), hosts


@jax.jit
def tell(beetles, hosts):
    return jnp.stack([beetles.sum(), hosts.mean(), beetles.max()])


class Mast:
    """The weather mast: wind speed in metres a second and its bearing in radians."""

    def __init__(self, rng):
        self.rng = rng
        self.speed = 3.0
        self.bearing = 0.4

    def reading(self):
        self.speed = min(max(self.speed + float(self.rng.normal(0.0, 0.4)), 0.3), 9.0)
        self.bearing = (self.bearing + float(self.rng.normal(0.0, 0.25))) % (2 * math.pi)
        return self.speed, self.bearing


class Forest:
    def __init__(self, rng):
        hosts = rng.uniform(0.4, 1.0, size=(GRID, GRID)).astype(np.float32)
        beetles = np.zeros((GRID, GRID), dtype=np.float32)
        for _ in range(30):
            row, column = rng.integers(0, GRID - 8, size=2).tolist()
            beetles[row:row + 8, column:column + 8] = 5.0
        self.hosts = jnp.asarray(hosts)
        self.beetles = jnp.asarray(beetles)
        self.flights = 0

    def flight(self, spectrum):
        self.beetles, self.hosts = fly(self.beetles, self.hosts, spectrum)
        self.beetles.block_until_ready()
        self.flights += 1


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    rng = np.random.default_rng(5)
    forest = Forest(rng)
    mast = Mast(rng)
    readings = 0
    while time.time() < until:
        speed, bearing = mast.reading()
        readings += 1
        for _ in range(FLIGHTS_PER_READING):
            forest.flight(drift_spectrum(speed, bearing))
            time.sleep(0.025)
        if readings % 15 == 0:
            beetles, hosts, most = np.asarray(tell(forest.beetles, forest.hosts)).tolist()
            print(f"flight {forest.flights}: wind {speed:.1f} m/s, {beetles:.0f} beetles, at most {most:.2f} "
                  f"on a stand, {100 * hosts:.1f} % hosts", flush=True)


if __name__ == "__main__":
    main()
