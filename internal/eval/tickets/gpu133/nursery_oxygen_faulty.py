"""
Oxygen in the nursery channels of a glass eel farm. Water flows along the channel, the eels breathe, and at every meal
a cloud of feed drifts down the stream and takes oxygen until it is eaten. Meals follow the clock of the channel; the
keeper reads the lowest oxygen and the aerator answers to it.

ticket: practice
class: app-leak
holder: _listeners
cause: callbacks-left
"""
import os
import time

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
ROWS, COLUMNS = 128, 1024
MEAL_TICKS = 18
DRIFT_COLUMNS = 24


class ChannelClock:
    """Tells everyone who has asked for it that a tick has passed."""

    def __init__(self):
        self.tick = 0
        self._listeners = []

    def subscribe(self, listener):
        self._listeners.append(listener)  # keeps

    def unsubscribe(self, listener):
        self._listeners.remove(listener)

    def advance(self):
        self.tick += 1
        for listener in list(self._listeners):
            listener(self.tick)


class Channel:
    def __init__(self, clock):
        self.clock = clock
        self.oxygen = cp.full((ROWS, COLUMNS), 9.0, dtype=cp.float32)
        self.aeration = 0.2
        clock.subscribe(self.on_tick)

    def on_tick(self, tick):
        self.oxygen[:, 1:] += 0.3 * (self.oxygen[:, :-1] - self.oxygen[:, 1:])
        self.oxygen += self.aeration * (10.0 - self.oxygen) * 0.1
        self.oxygen -= 0.02

    def take(self, amount):
        self.oxygen -= amount
        cp.maximum(self.oxygen, 0.0, out=self.oxygen)

    def lowest(self):
        return float(self.oxygen.min())


class Meal:
    """A cloud of feed that drifts and is eaten within some ticks."""

    def __init__(self, channel, generator):
        self.channel = channel
        self.cloud = generator.random((ROWS, COLUMNS), dtype=cp.float32)  # grows
        self.cloud *= 0.02
        self.end = channel.clock.tick + MEAL_TICKS
        self.eaten = False

    def serve(self):
        self.channel.clock.subscribe(self.on_tick)

    def on_tick(self, tick):
        if self.eaten:
            return
        self.channel.take(cp.roll(self.cloud, DRIFT_COLUMNS * (tick % 40), axis=1))
        self.cloud *= 0.85
        if tick >= self.end:
            self.eaten = True


class Keeper:
    def __init__(self, seed):
        self.generator = cp.random.default_rng(seed)
        self.clock = ChannelClock()
        self.channel = Channel(self.clock)
        self.meals = 0
        self.lowest = 9.0

    def step(self):
        meal = Meal(self.channel, self.generator)
        meal.serve()
        self.meals += 1
        self.clock.advance()
        self.lowest = self.channel.lowest()
        self.channel.aeration += 0.02 * (6.5 - self.lowest)
        self.channel.aeration = min(max(self.channel.aeration, 0.05), 1.0)


def main():
    keeper = Keeper(seed=733)
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        keeper.step()
        if keeper.clock.tick % (ROUNDS_PER_SECOND * 4) == 0:
            print(
                f"tick {keeper.clock.tick}: {keeper.meals} meals, lowest oxygen {keeper.lowest:.2f} mg/l, "
                f"aeration {keeper.channel.aeration:.2f}",
                flush=True,
            )
        pause = start + keeper.clock.tick / ROUNDS_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"nursery closed after {keeper.meals} meals, lowest oxygen {keeper.lowest:.2f} mg/l", flush=True)


if __name__ == "__main__":
    main()
