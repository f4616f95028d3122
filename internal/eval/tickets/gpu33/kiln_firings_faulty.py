"""A scheduler for the kilns of a pottery. Firings come in, two workers simulate how the heat spreads through the kiln,
and the hottest place is told to the potter as soon as a firing is done. At the end the scheduler waits for firings that
are still under way.

ticket: practice
class: app-leak
holder: firings Scheduler Future
cause: futures-kept results-kept
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import functools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait

import jax
import jax.numpy as jnp

SIDE, STEPS = 640, 40


@functools.partial(jax.jit, static_argnames="steps")
def fire(key, row, gap, rate, steps):
    """Heat after so many steps, with a row of burners that stay as hot as they are."""
    start = 20 + jax.random.uniform(key, (SIDE, SIDE))
    places = jnp.arange(SIDE)
    burners = (places[:, None] == row) & (places % gap == 0)

    def step(heat, _):
        around = sum(jnp.roll(heat, shift, axis) for shift in (-1, 1) for axis in (0, 1))
        heat = heat + rate * (around - 4 * heat)
        return jnp.where(burners, 1200.0, heat), None

    heat, _ = jax.lax.scan(step, start, length=steps)
    return heat


class Scheduler:
    def __init__(self):
        self.workers = ThreadPoolExecutor(2)
        self.slots = threading.Semaphore(4)
        self.firings = []
        self.done, self.hottest = 0, 0.0

    def submit(self, seed, rate):
        self.slots.acquire()
        firing = self.workers.submit(self.run, seed, rate)
        firing.add_done_callback(self.tell)
        self.firings.append(firing)  # keeps

    def run(self, seed, rate):
        key = jax.random.key(seed)
        return fire(key, seed % SIDE, 1 + seed % 7, rate, STEPS).block_until_ready()  # grows

    def tell(self, firing):
        self.hottest = float(firing.result()[SIDE // 4 : -SIDE // 4].max())
        self.done += 1
        self.slots.release()

    def close(self):
        wait(self.firings)
        self.workers.shutdown()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    scheduler, sent = Scheduler(), 0
    while time.time() < end:
        scheduler.submit(random.randrange(100_000), random.uniform(0.05, 0.2))
        sent += 1
        if sent % 25 == 0:
            print(f"{sent} firings sent, {scheduler.done} done, {scheduler.hottest:.0f} degrees", flush=True)
        time.sleep(random.uniform(0.05, 0.2))
    scheduler.close()
    print(scheduler.done, "firings done")


if __name__ == "__main__":
    main()
