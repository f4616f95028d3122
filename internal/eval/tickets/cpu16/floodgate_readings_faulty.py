"""Six flood gates let the tide into the pool of a mill, each with a pressure comb that reads the waves in the stream.

The combs send their readings to the gatehouse, where a keeper goes through what has come in at every tick, works out
the flow through each gate, and shuts a flap when the stream turns. All of it runs in one event loop.

ticket: practice
class: host-growth
holder: inbox
cause: unbounded-queue
"""
import asyncio
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
GATES = ["heron", "otter", "eel", "teal", "mullet", "curlew"]
COMB_PACE = 1.0 / 6
KEEPER_TICK = 1.0 / 5
AT_ONCE = 4
PORTS = 48
SAMPLES = 512
TIDE_PERIOD = 9.0


class Reading:
    """One burst of a comb: pressures over its ports."""

    def __init__(self, gate, moment, pressures):
        self.gate = gate
        self.moment = moment
        self.pressures = pressures


class Comb:
    """A pressure comb in the throat of one gate."""

    def __init__(self, gate, inbox, seed):
        self.gate = gate
        self.inbox = inbox
        self.rng = np.random.default_rng(seed)
        self.heights = np.linspace(0.0, 2.4, PORTS)
        self.sent = 0

    def burst(self, now):
        stream = np.sin(2.0 * np.pi * now / TIDE_PERIOD)
        profile = stream * (self.heights / 2.4) ** (1.0 / 7.0)
        waves = 0.1 * np.sin(np.linspace(0.0, 30.0, SAMPLES) + self.rng.uniform(0.0, 6.0))
        return profile[None, :] + waves[:, None] + 0.02 * self.rng.standard_normal((SAMPLES, PORTS))  # grows

    async def run(self, began):
        while (now := time.monotonic() - began) < SECONDS:
            self.inbox.put_nowait(Reading(self.gate, now, self.burst(now)))  # keeps
            self.sent += 1
            await asyncio.sleep(COMB_PACE)


class Flap:
    """State of one gate's flap and the water that went through."""

    def __init__(self):
        self.open = True
        self.flow = 0.0
        self.volume = 0.0
        self.moves = 0

    def set(self, wanted):
        if wanted != self.open:
            self.open = wanted
            self.moves += 1


class Keeper:
    """Goes through the readings and moves the flaps."""

    def __init__(self, inbox):
        self.inbox = inbox
        self.flaps = {gate: Flap() for gate in GATES}
        self.read = 0

    def take(self):
        """The readings for this tick, oldest first."""
        count = min(self.inbox.qsize(), AT_ONCE)
        return [self.inbox.get_nowait() for _ in range(count)]

    def judge(self, reading):
        flap = self.flaps[reading.gate]
        speed = np.median(reading.pressures, axis=0)
        flap.flow = float(speed.mean()) * 3.1
        flap.set(flap.flow > -0.2)
        if flap.open:
            flap.volume += max(flap.flow, 0.0) * COMB_PACE
        self.read += 1

    async def run(self, began):
        while time.monotonic() - began < SECONDS:
            for reading in self.take():
                self.judge(reading)
            await asyncio.sleep(KEEPER_TICK)


async def log_book(keeper, began):
    """A line for the gatehouse book every few seconds."""
    while True:
        await asyncio.sleep(3.0)
        flows = ", ".join(f"{gate} {flap.flow:+.2f}" for gate, flap in keeper.flaps.items())
        print(f"{time.monotonic() - began:6.1f} s  read {keeper.read:5d}  flow {flows}", flush=True)


async def gatehouse():
    inbox = asyncio.Queue()
    combs = [Comb(gate, inbox, 4400 + place) for place, gate in enumerate(GATES)]
    keeper = Keeper(inbox)
    began = time.monotonic()
    book = asyncio.create_task(log_book(keeper, began))
    await asyncio.gather(keeper.run(began), *(comb.run(began) for comb in combs))
    book.cancel()
    volume = sum(flap.volume for flap in keeper.flaps.values())
    moves = sum(flap.moves for flap in keeper.flaps.values())
    print(f"slack water: {volume:.0f} cubic metres let in, flaps moved {moves} times", flush=True)


if __name__ == "__main__":
    asyncio.run(gatehouse())
