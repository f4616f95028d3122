"""Race room of a long sled dog race.

Every team carries a beacon. In each turn the race room asks the beacons of all teams at once over slow radio
relays; an answer holds the snow relief around the sled, as the lead dog's lidar saw it. From the answers of this
and the last turns the room rates the trail and foretells the speed of each musher. A relay that takes too long is
given up.

ticket: practice
class: host-growth
holder: _answers
cause: futures-kept
"""
import asyncio
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
TURNS_PER_SECOND = 8
TEAMS = 10
PATCH = 136
PATIENCE = 0.06
TURNS_COMPARED = 3


class Trail:
    """The country between the checkpoints as a strip of heights."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        relief = self._rng.standard_normal((2400, 2400), dtype=np.float32)
        self._heights = relief.cumsum(axis=0, dtype=np.float32) / 40.0
        self.places = self._rng.integers(0, 2400 - PATCH, size=(TEAMS, 2)).astype(float)
        self._speeds = self._rng.uniform(0.5, 2.0, size=(TEAMS, 1))

    def advance(self):
        self.places = (self.places + self._speeds) % (2400 - PATCH)

    def delay(self):
        return float(self._rng.gamma(2.0, 0.009))

    def look(self, team):
        row, column = self.places[team].astype(int)
        seen = self._heights[row:row + PATCH, column:column + PATCH]
        return seen + 0.02 * self._rng.standard_normal(seen.shape, dtype=np.float32)  # grows


class Relay:
    def __init__(self, trail):
        self._trail = trail

    async def ask(self, team):
        await asyncio.sleep(self._trail.delay())
        return self._trail.look(team)


class RaceRoom:
    """Asks the beacons and compares the answers of one team over the turns."""

    def __init__(self, relay):
        self._relay = relay
        self._answers = {}
        self.roughness = np.zeros(TEAMS)
        self.heard = 0
        self.given_up = 0

    async def call_teams(self, turn):
        asked = []
        for team in range(TEAMS):
            task = asyncio.create_task(self._relay.ask(team))
            self._answers[turn, team] = task  # keeps
            asked.append(task)
        _, late = await asyncio.wait(asked, timeout=PATIENCE)
        for task in late:
            task.cancel()
        self.given_up += len(late)
        self.heard += len(asked) - len(late)
        await asyncio.sleep(0)

    def answer(self, turn, team):
        task = self._answers.get((turn, team))
        if task is None or task.cancelled() or not task.done():
            return None
        return task.result()

    def rate(self, turn):
        for team in range(TEAMS):
            looks = [self.answer(turn - back, team) for back in range(TURNS_COMPARED)]
            looks = [look for look in looks if look is not None]
            if looks:
                steep = np.mean([np.abs(np.diff(look, axis=1)).mean() for look in looks])
                self.roughness[team] += 0.2 * (steep - self.roughness[team])

    def tidy(self, turn):
        """Answers older than the turns compared are of no use to the ratings."""
        old = [key for key, task in self._answers.items()
               if key[0] <= turn - TURNS_COMPARED and task.cancelled()]
        for key in old:
            del self._answers[key]

    def fastest(self):
        return int(self.roughness.argmin())


async def race(room, trail):
    start = time.monotonic()
    next_print = 2.0
    turn = 0
    while (now := time.monotonic() - start) < SECONDS:
        trail.advance()
        await room.call_teams(turn)
        room.rate(turn)
        room.tidy(turn)
        turn += 1
        if now >= next_print:
            print(f"{now:6.1f} s  turn {turn}  heard {room.heard}  given up {room.given_up}  "
                  f"smoothest trail: team {room.fastest()}", flush=True)
            next_print += 2.0
        await asyncio.sleep(max(0.0, turn / TURNS_PER_SECOND - (time.monotonic() - start)))
    return turn


def main():
    trail = Trail(seed=1049)
    room = RaceRoom(Relay(trail))
    turns = asyncio.run(race(room, trail))
    print(f"race room closed after {turns} turns, {room.heard} answers heard", flush=True)


if __name__ == "__main__":
    main()
