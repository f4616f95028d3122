"""Steam kettle of a hat maker's felting room.

Batches of fur felt go through the steam one after another and shrink according to the temperature and the wetness of
the kettle. The kettle tells every batch of its readings; a batch that has had its time in the steam is pulled, weighed
and sent on to the blocking room.

ticket: practice
class: host-growth
holder: _listeners
cause: callbacks-left
"""
import math
import os
import time

import numpy as np

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
FIBRES = 180_000
STEAM_ROUNDS = 12
ROUNDS_BETWEEN_BATCHES = 2


class Kettle:
    """Source of steam; readings go out to whoever asked for them."""

    def __init__(self, rng):
        self.rng = rng
        self.temperature = 92.0
        self.wetness = 0.7
        self.readings = 0
        self._listeners = []

    def listen(self, callback):
        self._listeners.append(callback)  # keeps

    def unlisten(self, callback):
        self._listeners.remove(callback)

    def boil(self):
        self.readings += 1
        swing = 4.0 * math.sin(self.readings / 25.0)
        self.temperature = 92.0 + swing + float(self.rng.normal(0.0, 0.4))
        self.wetness = float(np.clip(self.wetness + self.rng.normal(0.0, 0.02), 0.4, 1.0))
        for callback in list(self._listeners):
            callback(self.temperature, self.wetness)


class FeltBatch:
    def __init__(self, number, rng):
        self.number = number
        self.fibres = rng.gamma(4.0, 2.5, FIBRES)  # grows
        self.first_mean = float(self.fibres[::16].mean())
        self.rounds = 0
        self.heat = 0.0

    def on_reading(self, temperature, wetness):
        self.heat += max(0.0, temperature - 80.0) * wetness

    def felt(self):
        """One round in the steam: a share of the fibres shrinks and mats."""
        share = slice(self.rounds % 4, None, 4)
        self.fibres[share] *= 1.0 - min(0.02, self.heat * 0.0002)
        self.rounds += 1

    @property
    def done(self):
        return self.rounds >= STEAM_ROUNDS

    def shrinkage(self):
        return 1.0 - float(self.fibres[::16].mean()) / self.first_mean


class BlockingRoom:
    """Receives felted batches and writes the day's figures."""

    def __init__(self):
        self.received = 0
        self.shrinkage_sum = 0.0
        self.too_loose = 0

    def take(self, batch):
        shrinkage = batch.shrinkage()
        self.received += 1
        self.shrinkage_sum += shrinkage
        if shrinkage < 0.03:
            self.too_loose += 1

    def mean_shrinkage(self):
        return self.shrinkage_sum / max(1, self.received)


class FeltingRoom:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.kettle = Kettle(self.rng)
        self.blocking = BlockingRoom()
        self.steaming = []
        self.rounds = 0
        self.batches = 0

    def put_in(self):
        self.batches += 1
        batch = FeltBatch(self.batches, self.rng)
        self.kettle.listen(batch.on_reading)  # keeps
        self.steaming.append(batch)

    def pull(self, batch):
        self.steaming.remove(batch)
        self.blocking.take(batch)

    def round(self):
        if self.rounds % ROUNDS_BETWEEN_BATCHES == 0:
            self.put_in()
        self.rounds += 1
        self.kettle.boil()
        for batch in list(self.steaming):
            batch.felt()
            if batch.done:
                self.pull(batch)


def main():
    room = FeltingRoom(seed=1845)
    start = time.monotonic()
    next_line = 2.0
    while (elapsed := time.monotonic() - start) < RUN_SECONDS:
        room.round()
        if elapsed >= next_line:
            print(f"{elapsed:6.1f}s kettle {room.kettle.temperature:.1f} C batches {room.batches} "
                  f"blocked {room.blocking.received} shrinkage {room.blocking.mean_shrinkage():.3f}", flush=True)
            next_line += 2.0
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"fire out: {room.blocking.received} batches, {room.blocking.too_loose} too loose", flush=True)


if __name__ == "__main__":
    main()
