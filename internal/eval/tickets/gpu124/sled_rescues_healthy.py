"""Dispatch desk of a ski patrol.

Calls for help come in from the slopes all day. For each call the desk sends a sled team and lays a chance map over the
terrain: where the skier may lie. Teams sweep the map, the chance of swept ground falls, and the call closes once the
skier is brought to the hut.

ticket: practice
class: none
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(41)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROWS, COLUMNS = 384, 512
ROUNDS_A_SECOND = 8


class Terrain:
    """Slope angles and tree cover of the resort, made once."""

    def __init__(self):
        self.angle = torch.rand(ROWS, COLUMNS, device=DEVICE) * 42.0
        self.trees = (torch.rand(ROWS, COLUMNS, device=DEVICE) > 0.7).float()
        self.rows = torch.arange(ROWS, device=DEVICE, dtype=torch.float32)[:, None]
        self.columns = torch.arange(COLUMNS, device=DEVICE, dtype=torch.float32)[None, :]

    def bell(self, row, column, width):
        """A bell over the ground round one point."""
        distance = (self.rows - row) ** 2 + (self.columns - column) ** 2
        return torch.exp(distance / (-2.0 * width * width))


class Rescue:
    """One call: the chance map and the team that sweeps it."""

    def __init__(self, number, channel, terrain, rng):
        self.number = number
        self.channel = channel
        self.terrain = terrain
        self.row = rng.randrange(ROWS)
        self.column = rng.randrange(COLUMNS)
        self.sweeps = 0
        self.needed = rng.randint(6, 14)
        self.chance = terrain.bell(self.row, self.column, 40.0)
        self.chance.mul_(1.0 + 0.5 * terrain.trees)
        self.chance.div_(self.chance.sum())

    def sweep(self, rng):
        """Search a round patch of ground, and lower the chance there."""
        row = self.row + rng.gauss(0.0, 30.0)
        column = self.column + rng.gauss(0.0, 30.0)
        seen = self.terrain.bell(row, column, 18.0).mul_(0.8 - 0.3 * self.terrain.trees)
        self.chance.mul_(1.0 - seen)
        self.chance.div_(self.chance.sum())
        self.sweeps += 1

    @property
    def found(self):
        return self.sweeps >= self.needed

    def best_guess(self):
        place = int(self.chance.argmax())
        return divmod(place, COLUMNS)


class Dispatch:
    """Opens calls, moves the teams, and answers radio questions by channel."""

    def __init__(self, terrain, seed):
        self.terrain = terrain
        self.rng = random.Random(seed)
        self._searching = []
        self._by_channel = {}
        self.opened = 0
        self.closed = 0

    def open(self):
        self.opened += 1
        channel = f"{146 + self.opened % 4}.{self.opened:05d}"
        rescue = Rescue(self.opened, channel, self.terrain, self.rng)
        self._searching.append(rescue)
        self._by_channel[channel] = rescue
        return channel

    def close(self, rescue):
        self._searching.remove(rescue)
        del self._by_channel[rescue.channel]
        self.closed += 1

    def ask(self, channel):
        """A team asks over the radio where to go next."""
        rescue = self._by_channel[channel]
        return rescue.best_guess()

    def advance(self):
        for rescue in list(self._searching):
            rescue.sweep(self.rng)
            if rescue.found:
                self.close(rescue)

    @property
    def active(self):
        return len(self._searching)


def main():
    dispatch = Dispatch(Terrain(), seed=7)
    started = time.monotonic()
    reported = started
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        channel = dispatch.open()
        row, column = dispatch.ask(channel)
        dispatch.advance()
        if begun - reported > 3.0:
            reported = begun
            print(f"{dispatch.opened} calls, {dispatch.active} teams out, newest near {row}/{column}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    print(f"day over: {dispatch.opened} calls, {dispatch.closed} skiers brought in", flush=True)


if __name__ == "__main__":
    main()
