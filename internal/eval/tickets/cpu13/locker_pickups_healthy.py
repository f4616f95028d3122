"""Terminal service of a parcel locker station.

Customers step up to a terminal, type the code of their parcel and are filmed by the terminal camera for the
hand-over record. With the right code the door springs open and the film is reduced to a fingerprint; a wrong code
sends them to the help line, and some walk away before typing anything. The dispatcher shows who stands at the
terminals now.

ticket: practice
class: none
"""
import asyncio
import os
import random
import time
from collections import Counter

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ARRIVALS_PER_SECOND = 20
FRAME = (72, 96)
FRAMES_PER_FILM = 80


class WrongCode(Exception):
    pass


class PickupSession:
    """One customer at one terminal."""

    def __init__(self, number, terminal, code, rng):
        self.number = number
        self.terminal = terminal
        self.code = code
        self.film = rng.integers(0, 255, size=(FRAMES_PER_FILM,) + FRAME, dtype=np.uint8)

    def fingerprint(self):
        motion = np.abs(np.diff(self.film[::8].astype(np.int16), axis=0)).mean(axis=(1, 2))
        return np.round(motion, 1)


class DoorBank:
    """Doors with their codes; a door takes a new parcel as soon as it has been emptied."""

    def __init__(self, doors, chooser):
        self.chooser = chooser
        self.codes = {door: self._fresh_code() for door in range(doors)}

    def _fresh_code(self):
        return f"{self.chooser.randrange(10 ** 6):06d}"

    def open_with(self, code):
        for door, known in self.codes.items():
            if known == code:
                self.codes[door] = self._fresh_code()
                return door
        raise WrongCode(code)

    def some_code(self):
        return self.chooser.choice(list(self.codes.values()))


class Station:
    def __init__(self, seed):
        self.chooser = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.doors = DoorBank(120, self.chooser)
        self.outcomes = Counter()
        self.last_print = None
        self._at_terminal = {}
        self._visits = set()

    def code_typed(self):
        code = self.doors.some_code()
        if self.chooser.random() < 0.35:
            code = code[:-1] + self.chooser.choice("xyz")
        return code

    async def visit(self, number):
        session = PickupSession(number, number % 9, self.code_typed(), self.rng)
        self._at_terminal[session.number] = session
        await asyncio.sleep(self.chooser.uniform(0.1, 0.6))
        if self.chooser.random() < 0.1:
            self.outcomes["walked away"] += 1
            self._at_terminal.pop(session.number)
            return
        try:
            self.doors.open_with(session.code)
            self.last_print = session.fingerprint()
            self.outcomes["picked up"] += 1
        except WrongCode:
            await self.help_line(session)
            return
        self._at_terminal.pop(session.number)

    async def help_line(self, session):
        await asyncio.sleep(self.chooser.uniform(0.2, 0.5))
        self.outcomes["help line"] += 1
        session.code = None
        self._at_terminal.pop(session.number)

    def admit(self, number):
        task = asyncio.create_task(self.visit(number))
        self._visits.add(task)
        task.add_done_callback(self._visits.discard)

    def lamps(self):
        return sorted({session.terminal for session in self._at_terminal.values()})

    def lamps(self):
        return sorted({session.terminal for session in self._at_terminal.values()})

    def lamps(self):
        return sorted({session.terminal for session in self._at_terminal.values()})

    def lamps(self):
        return sorted({session.terminal for session in self._at_terminal.values()})

    async def close(self):
        await asyncio.gather(*self._visits)


async def serve():
    station = Station(seed=27)
    started = time.monotonic()
    report_due = started + 2.0
    number = 0
    while time.monotonic() - started < SECONDS:
        number += 1
        station.admit(number)
        if time.monotonic() >= report_due:
            tally = ", ".join(f"{name} {count}" for name, count in sorted(station.outcomes.items()))
            print(f"customer {number}: {tally}; lamps {station.lamps()}", flush=True)
            report_due += 2.0
        await asyncio.sleep(1.0 / ARRIVALS_PER_SECOND)
    await station.close()
    print(f"station closed after {number} customers, {station.outcomes['picked up']} parcels out", flush=True)


if __name__ == "__main__":
    asyncio.run(serve())
