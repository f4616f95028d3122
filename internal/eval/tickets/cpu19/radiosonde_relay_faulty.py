"""Radiosonde relay of ocean weather ships.

Each ship on station releases balloons whose sondes send levels of pressure, temperature and wind.  The
relay opens a session for each ascent, fills a profile as the levels come in, and closes it when the
sonde has burst.  A watch listens for the carrier and breaks off ascents whose signal has faded.

ticket: practice
class: host-growth
holder: _sessions
cause: sessions-kept
"""
import asyncio
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
RELEASES_PER_SECOND = 10
ASCENT_S = (6.0, 12.0)
FADING_SHARE = 0.6
LEVELS, FIELDS = 2000, 40
SHIPS = ("Alpha", "Bravo", "Charlie", "Juliett", "Lima", "Mike")


class CrcError(ValueError):
    """A telegram that did not pass its check."""


class Ascent:
    """The session of one balloon."""

    def __init__(self, serial, ship, rng):
        self.serial = serial
        self.ship = ship
        self.rng = rng
        self.profile = rng.standard_normal((LEVELS, FIELDS))  # grows
        self.level = 0
        self.task = None
        now = time.monotonic()
        self.ends = now + rng.uniform(*ASCENT_S)
        self.fades = self.ends if rng.random() < FADING_SHARE else float("inf")
        if self.fades < float("inf"):
            self.ends += 60.0

    def telegram(self):
        if self.rng.random() < 0.002:
            raise CrcError(self.serial)
        return self.rng.normal(size=FIELDS)

    async def receive(self):
        while time.monotonic() < self.ends:
            self.profile[self.level % LEVELS] = self.telegram()
            self.level += 1
            await asyncio.sleep(0.4)


class Relay:
    """Ascents on the air, by serial number."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self._sessions = {}
        self.serial = 0
        self.burst = 0
        self.spoilt = 0
        self.faded = 0
        self.wind = 0.0

    def release(self):
        self.serial += 1
        ship = SHIPS[self.serial % len(SHIPS)]
        ascent = Ascent(self.serial, ship, np.random.default_rng(self.serial))
        self._sessions[ascent.serial] = ascent  # keeps
        ascent.task = asyncio.create_task(self._follow(ascent))

    async def _follow(self, ascent):
        try:
            await ascent.receive()
            self.burst += 1
        except Exception:
            self.spoilt += 1
        self._close(ascent)

    def _close(self, ascent):
        seen = ascent.profile[:max(1, ascent.level), 3]
        self.wind = 0.95 * self.wind + 0.05 * float(np.abs(seen).mean())
        del self._sessions[ascent.serial]

    async def watch_carriers(self):
        """Break off what has no carrier any more."""
        while True:
            now = time.monotonic()
            for ascent in list(self._sessions.values()):
                if ascent.fades <= now and ascent.task.cancel():
                    self.faded += 1
                    ascent.fades = float("inf")
            await asyncio.sleep(0.1)

    async def release_balloons(self):
        while True:
            if self.rng.random() < 0.95:
                self.release()
            await asyncio.sleep(1.0 / RELEASES_PER_SECOND)

    async def report(self, start):
        while True:
            await asyncio.sleep(3.0)
            print(f"{time.monotonic() - start:6.1f} s  released {self.serial:5d}  burst {self.burst:4d}  "
                  f"faded {self.faded:4d}  spoilt {self.spoilt:4d}  wind {self.wind:5.3f}", flush=True)

    def running(self):
        return [ascent.task for ascent in self._sessions.values() if not ascent.task.done()]


async def main():
    relay = Relay(1949)
    start = time.monotonic()
    duties = [
        asyncio.create_task(relay.watch_carriers()),
        asyncio.create_task(relay.release_balloons()),
        asyncio.create_task(relay.report(start)),
    ]
    await asyncio.sleep(SECONDS)
    for duty in duties:
        duty.cancel()
    await asyncio.gather(*duties, return_exceptions=True)
    last = relay.running()
    for task in last:
        task.cancel()
    await asyncio.gather(*last, return_exceptions=True)
    print(f"relay closed: {relay.serial} ascents, {relay.burst} burst, {relay.faded} faded", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
