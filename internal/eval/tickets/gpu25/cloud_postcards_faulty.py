"""Postcards of made-up skies. Customers order one and wait a quarter of a second for it; who waits in vain is told to
order anew. The painter takes up to four orders at a time and paints them in one call, on some days the clouds take it
longer. Orders wait as futures at the counter, under their numbers.

ticket: practice
class: host-growth
holder: waiting Future _result Counter
cause: futures-kept results-kept
"""

import itertools
import os
import queue
import random
import threading
import time
from concurrent.futures import Future, TimeoutError

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, AT_ONCE, PATIENCE = 640, 4, 0.25


@jax.jit
def paint(key, moods):
    """Skies as bytes, one for each mood."""
    rough = jax.random.normal(key, (len(moods), SIDE // 16, SIDE // 16, 3))
    clouds = jax.image.resize(rough, (len(moods), SIDE, SIDE, 3), "cubic")
    evening = jnp.linspace(0.0, 1.0, SIDE)[None, :, None, None] * moods[:, None, None, None]
    return (255 * jax.nn.sigmoid(clouds + evening)).astype(jnp.uint8)


class Counter:
    def __init__(self):
        self.orders = queue.Queue()
        self.waiting = {}
        self.numbers = itertools.count(1)
        self.open = True
        self.given = self.sorry = 0

    def order(self, mood):
        number, future = next(self.numbers), Future()
        self.waiting[number] = future  # keeps
        self.orders.put((mood, future))
        return number

    def collect(self, number):
        """The postcard with that number, or TimeoutError if it takes too long."""
        postcard = self.waiting[number].result(timeout=PATIENCE)
        del self.waiting[number]
        return postcard

    def painter(self):
        key = jax.random.key(7)
        while self.open:
            try:
                batch = [self.orders.get(timeout=0.1)]
            except queue.Empty:
                continue
            while len(batch) < AT_ONCE and not self.orders.empty():
                batch.append(self.orders.get())
            moods = np.zeros(AT_ONCE, dtype=np.float32)
            moods[: len(batch)] = [mood for mood, _ in batch]
            key, now = jax.random.split(key)
            skies = np.asarray(paint(now, moods))
            time.sleep(0.4 if random.random() < 0.3 else 0.05)
            for sky, (_, future) in zip(skies, batch):
                future.set_result(sky.tobytes())  # grows

    def customer(self):
        while self.open:
            number = self.order(random.uniform(-2.0, 2.0))
            try:
                postcard = self.collect(number)
                self.given += len(postcard) > 0
            except TimeoutError:
                self.sorry += 1
            time.sleep(random.uniform(0.05, 0.2))


def main():
    counter = Counter()
    paint(jax.random.key(0), np.zeros(AT_ONCE, dtype=np.float32)).block_until_ready()
    threads = [threading.Thread(target=counter.painter)]
    threads += [threading.Thread(target=counter.customer) for _ in range(5)]
    for thread in threads:
        thread.start()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        time.sleep(min(3.0, max(0.1, end - time.time())))
        print(f"{counter.given} postcards given, {counter.sorry} customers put off", flush=True)
    counter.open = False
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
