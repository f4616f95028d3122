"""Dispatch desk of a crane yard: foremen radio in for lifts, and a dispatcher plans the swing of jib and trolley.

Every lift claims the swept volume of its load on a height grid, so that two cranes never swing through each other.
Foremen are impatient people: who has waited too long withdraws the request and calls again for another crane.

ticket: practice
class: none
"""
import asyncio
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 12
LIFTS_PER_ROUND = 3
CRANES = 6
GRID = 192
PATIENCE = 0.30


class Lift:
    """A load to be carried from one place of the yard to another."""

    def __init__(self, number, crane, start, end, tonnes):
        self.number = number
        self.crane = crane
        self.start = start
        self.end = end
        self.tonnes = tonnes

    def minutes(self):
        """Time to carry it out, in the yard's quick clock."""
        way = float(np.hypot(*(self.end - self.start)))
        return 0.05 + 0.25 * way / GRID + 0.006 * self.tonnes


class Yard:
    """The ground: heights of stacks and the cells' coordinates."""

    def __init__(self, rng):
        self.rows, self.columns = np.mgrid[0:GRID, 0:GRID].astype(np.float64)
        self.stacks = rng.integers(0, 5, (GRID // 16, GRID // 16)).repeat(16, axis=0).repeat(16, axis=1) * 2.6

    def swept(self, lift):
        """Height over ground that the load needs along its way."""
        span = lift.end - lift.start
        length = max(float(span @ span), 1.0)
        share = ((self.rows - lift.start[0]) * span[0] + (self.columns - lift.start[1]) * span[1]) / length
        share = np.clip(share, 0.0, 1.0)
        off = np.hypot(self.rows - lift.start[0] - share * span[0], self.columns - lift.start[1] - share * span[1])
        return np.where(off < 4.0 + 0.1 * lift.tonnes, self.stacks + 3.0, 0.0)


class Dispatcher:
    """Answers the radio, reserves the way of each lift and has the cranes carry it out."""

    def __init__(self, yard):
        self.yard = yard
        self.cranes = [asyncio.Semaphore(2) for _ in range(CRANES)]
        self._claims = {}
        self.carried = 0
        self.withdrawn = 0
        self.tonnes = 0.0

    async def lift(self, lift):
        """Reserve the way, swing the load over and report its clearance."""
        way = self.yard.swept(lift)
        self._claims[lift.number] = way
        try:
            clearance = await self._swing(lift, way)
        finally:
            del self._claims[lift.number]
        self.carried += 1
        self.tonnes += lift.tonnes
        return clearance

    async def _swing(self, lift, way):
        async with self.cranes[lift.crane]:
            await asyncio.sleep(lift.minutes())
        return float((way - self.yard.stacks)[way > 0.0].min())


class Foreman:
    """Calls for lifts and gives up where the crane does not come in time."""

    def __init__(self, dispatcher, rng):
        self.dispatcher = dispatcher
        self.rng = rng
        self.number = 0

    def next_lift(self):
        self.number += 1
        start, end = self.rng.uniform(10, GRID - 10, (2, 2))
        return Lift(self.number, int(self.rng.integers(CRANES)), start, end, float(self.rng.uniform(1.0, 28.0)))

    async def call(self):
        try:
            await asyncio.wait_for(self.dispatcher.lift(self.next_lift()), PATIENCE)
        except asyncio.TimeoutError:
            self.dispatcher.withdrawn += 1


async def run_yard():
    rng = np.random.default_rng(8830)
    dispatcher = Dispatcher(Yard(rng))
    foreman = Foreman(dispatcher, rng)
    calls = set()
    began = time.monotonic()
    next_line = 3.0
    while (now := time.monotonic() - began) < SECONDS:
        for _ in range(LIFTS_PER_ROUND):
            call = asyncio.create_task(foreman.call())
            calls.add(call)
            call.add_done_callback(calls.discard)
        if now >= next_line:
            print(f"{now:6.1f} s  on the radio {len(calls):2d}  carried {dispatcher.carried}"
                  f"  withdrawn {dispatcher.withdrawn}  {dispatcher.tonnes:.0f} t", flush=True)
            next_line += 3.0
        await asyncio.sleep(ROUND)
    await asyncio.gather(*calls)
    print(f"shift over: {dispatcher.carried} lifts, {dispatcher.tonnes:.0f} t, "
          f"{dispatcher.withdrawn} withdrawn", flush=True)


if __name__ == "__main__":
    asyncio.run(run_yard())
