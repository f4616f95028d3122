"""Boarding at the turnstiles of a ferry pier.

Each sailing gets its own boarding session, in which a map of the pier
shows where the waiting passengers stand. They come in through turnstiles,
spread out over the pier and go aboard at the gangway. When the boat has
left, the purser notes the passengers and the crush at the gangway.

ticket: practice
class: app-leak
holder: _sessions
cause: sessions-kept
"""

import os
import time

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 6.0
ROUNDS_A_SAILING = 2
DECK = (512, 1024)
BOARDING_ROUNDS = 10
TURNSTILES = 6
STRIDE = 128

BOARDING = "boarding"
DEPARTED = "departed"
NOTED = "noted"


class PierPlan:
    """Ways from the turnstiles to the gangway."""

    def __init__(self):
        rows = cp.linspace(0.0, 1.0, DECK[0], dtype=cp.float32)[:, None]
        columns = cp.linspace(0.0, 2.0, DECK[1], dtype=cp.float32)[None, :]
        self.inflow = cp.stack([
            cp.exp(-((rows - (gate + 0.5) / TURNSTILES) ** 2 + columns ** 2) / 0.002) for gate in range(TURNSTILES)
        ])
        self.gangway = cp.exp(-((rows - 0.5) ** 2 + (columns - 2.0) ** 2) / 0.05)
        self.slope = 1.0 - 0.4 * self.gangway


class BoardingSession:
    """The passengers of one sailing while they board."""

    def __init__(self, number, plan):
        self.number = number
        self.plan = plan
        self.state = BOARDING
        self.rounds = 0
        self.passengers = 0
        self.crush = 0.0
        self.crowd = cp.zeros(DECK, dtype=cp.float32)  # grows

    def admit(self, counts):
        for gate, count in enumerate(counts):
            self.crowd += self.plan.inflow[gate] * float(count)
        self.passengers += int(counts.sum())

    def walk(self):
        self.crowd *= self.plan.slope
        self.crowd[:, STRIDE:] = 0.5 * self.crowd[:, STRIDE:] + 0.5 * self.crowd[:, :-STRIDE]
        self.crush = max(self.crush, float((self.crowd * self.plan.gangway).max()))
        self.rounds += 1
        if self.rounds >= BOARDING_ROUNDS:
            self.state = DEPARTED


class Purser:
    """Notes what each sailing took aboard."""

    def __init__(self):
        self.sailings = 0
        self.passengers = 0
        self.crush = 0.0

    def note(self, session):
        self.sailings += 1
        self.passengers += session.passengers
        self.crush = 0.9 * self.crush + 0.1 * session.crush
        session.state = NOTED


class BoardingDesk:
    """Opens sessions, moves the passengers and clears the desk."""

    def __init__(self, plan, purser, seed):
        self.plan = plan
        self.purser = purser
        self._rng = np.random.default_rng(seed)
        self._sessions = {}
        self._number = 0

    def open_sailing(self):
        self._number += 1
        self._sessions[self._number] = BoardingSession(self._number, self.plan)  # keeps

    def board(self):
        for session in self._in_state(BOARDING):
            session.admit(self._rng.poisson(3.0, TURNSTILES))
            session.walk()

    def note_departures(self):
        for session in self._in_state(DEPARTED):
            self.purser.note(session)

    def clear(self):
        for session in self._in_state(DEPARTED):
            del self._sessions[session.number]

    def _in_state(self, state):
        return [session for session in self._sessions.values() if session.state == state]


def main():
    purser = Purser()
    desk = BoardingDesk(PierPlan(), purser, seed=71)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        if rounds % ROUNDS_A_SAILING == 0:
            desk.open_sailing()
        desk.board()
        desk.note_departures()
        desk.clear()
        rounds += 1
        if rounds % 18 == 0:
            print(f"sailings {purser.sailings:4d}  aboard {purser.passengers:6d}  crush {purser.crush:.3f}", flush=True)
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"last boat left: {purser.sailings} sailings, {purser.passengers} passengers", flush=True)


if __name__ == "__main__":
    main()
