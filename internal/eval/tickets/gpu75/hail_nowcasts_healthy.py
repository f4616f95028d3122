"""A desk makes hail nowcasts for fruit growers. Each order takes the radar picture of its region and carries it along
with the wind, twelve steps ahead; two threads work the orders off. When the desk closes, it waits for the orders that
are still being worked on.

ticket: practice
class: none
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor, wait

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.ndimage import map_coordinates

SIDE, STEPS = 256, 12
REGIONS = "Alzey", "Bolzano", "Lleida", "Kutina"


@jax.jit
def carry(radar, wind):
    """The next pictures: the rain moves with the wind, spreads a little, and fades."""
    rows, columns = jnp.meshgrid(jnp.arange(SIDE), jnp.arange(SIDE), indexing="ij")

    def step(rain, _):
        came_from = [rows - wind[0], columns - wind[1]]
        moved = map_coordinates(rain, came_from, order=1, mode="nearest")
        around = (jnp.roll(moved, 1, 0) + jnp.roll(moved, -1, 0) + jnp.roll(moved, 1, 1) + jnp.roll(moved, -1, 1)) / 4
        rain = 0.98 * (0.8 * moved + 0.2 * around)
        return rain, rain

    return jax.lax.scan(step, radar, None, length=STEPS)[1]


def nowcast(radar, wind):
    rain = carry(jnp.asarray(radar), jnp.asarray(wind))
    return jax.block_until_ready(rain)


class Desk:
    def __init__(self):
        self.threads = ThreadPoolExecutor(max_workers=2)
        self.submitted = set()

    def order(self, radar, wind):
        future = self.threads.submit(nowcast, radar, wind)
        self.submitted.add(future)
        future.add_done_callback(self.submitted.discard)
        return future

    def close(self):
        wait(list(self.submitted))
        self.threads.shutdown()


class Radar:
    """A few cells of rain over each region."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.rows, self.columns = np.mgrid[:SIDE, :SIDE].astype(np.float32)

    def picture(self, cells=5):
        rain = np.zeros((SIDE, SIDE), np.float32)
        for row, column, size in self.random.uniform((0, 0, 5), (SIDE, SIDE, 25), size=(cells, 3)):
            rain += 60 * np.exp(-((self.rows - row) ** 2 + (self.columns - column) ** 2) / (2 * size**2))
        return rain.astype(np.float32)

    def wind(self):
        return self.random.uniform(-4, 4, size=2).astype(np.float32)


def main():
    desk, radar = Desk(), Radar(seed=7)
    orders, warned = 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        regions = random.sample(REGIONS, k=random.randint(1, 3))
        forecasts = [desk.order(radar.picture(), radar.wind()) for _ in regions]
        for region, forecast in zip(regions, forecasts):
            worst = float(forecast.result()[-1].max())
            warned += worst > 50
            orders += 1
            if orders % 25 == 0:
                print(f"{orders} orders, {warned} warnings, {region} up to {worst:.1f} dBZ", flush=True)
        time.sleep(random.uniform(0.15, 0.4))
    desk.close()


if __name__ == "__main__":
    main()
