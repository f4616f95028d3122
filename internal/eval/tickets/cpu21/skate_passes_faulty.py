"""Live speed service of a public ice rink where every skater wears a rented ankle tag.

A skater passes the gate, the tag sends its motion frames while the skater is on the ice, and the service works out
speed and pushes a summary to the board. Tags are old: now and then one loses radio contact, and the skater gets a new
one at the desk.

ticket: practice
class: host-growth
holder: _on_ice
cause: sessions-kept
"""
import asyncio
import os
import time

import numpy as np

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
FRAME_SECONDS = 0.12
GATE_SECONDS = 0.14
FRAMES = 10
SAMPLES = 24_000


class TagLost(Exception):
    """The ankle tag does not answer any more."""


class Skater:
    def __init__(self, tag, rng):
        self.tag = tag
        self.rng = rng
        self.strides = rng.standard_normal((FRAMES, SAMPLES), dtype=np.float32)  # grows
        self.frames = 0
        self.top_speed = 0.0

    def receive(self, frame):
        if len(frame) == 0:
            raise TagLost(self.tag)
        row = self.strides[self.frames % FRAMES]
        row[: len(frame)] = frame
        self.frames += 1
        speed = 4.0 + float(np.abs(np.cumsum(frame[:512])).max()) * 0.05
        self.top_speed = max(self.top_speed, speed)


class Board:
    """The score board over the ice: bounded table of the quickest skaters."""

    def __init__(self, places=10):
        self.places = places
        self.table = []

    def show(self, tag, speed):
        self.table.append((speed, tag))
        self.table.sort(reverse=True)
        del self.table[self.places:]

    def best(self):
        return self.table[0][0] if self.table else 0.0


class RinkService:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.board = Board()
        self._on_ice = {}
        self._tasks = set()
        self.passes = 0
        self.left = 0
        self.lost = 0

    async def read_tag(self, skater):
        await asyncio.sleep(FRAME_SECONDS)
        if self.rng.random() < 0.05:
            return np.empty(0, dtype=np.float32)
        return self.rng.standard_normal(2048, dtype=np.float32)

    async def attend(self, tag):
        skater = Skater(tag, self.rng)
        self._on_ice[tag] = skater  # keeps
        try:
            for _ in range(FRAMES):
                skater.receive(await self.read_tag(skater))
            self.board.show(tag, skater.top_speed)
            del self._on_ice[tag]
            self.left += 1
        except TagLost:
            self.lost += 1

    async def gate(self):
        while True:
            self.passes += 1
            task = asyncio.create_task(self.attend(f"tag-{self.passes:05d}"))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await asyncio.sleep(GATE_SECONDS)

    async def announce(self, start):
        while True:
            await asyncio.sleep(2.0)
            print(f"{time.monotonic() - start:6.1f}s passes {self.passes} left {self.left} new tags {self.lost} "
                  f"best {self.board.best():.2f} m/s", flush=True)

    async def resurface(self):
        """The ice machine goes round: the table on the board begins anew."""
        while True:
            await asyncio.sleep(15.0)
            self.board.table.clear()

    async def run(self, seconds):
        start = time.monotonic()
        duties = [asyncio.create_task(duty) for duty in (self.gate(), self.announce(start), self.resurface())]
        await asyncio.sleep(seconds)
        for duty in duties:
            duty.cancel()
        await asyncio.gather(*duties, return_exceptions=True)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=3.0)


def main():
    service = RinkService(seed=77)
    asyncio.run(service.run(RUN_SECONDS))
    print(f"rink closed: {service.passes} passes, {service.left} skaters left by the gate", flush=True)


if __name__ == "__main__":
    main()
