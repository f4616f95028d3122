"""A chocolate factory roasts cocoa beans in a row of drums. Each roast is followed as a field of bean temperatures
over the drum wall, heated by the burner and evened out by the turning. A roast ends when the beans have had their
time, or at once when they get so hot that they would scorch; the drum is then filled anew.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp

DRUMS = 6
ROWS, COLUMNS = 640, 768
FULL_TURNS = 9
SCORCHED_AT = 112.0
ROUNDS_A_SECOND = 5


@jax.jit
def fill_drum(key):
    """Beans from the sacks, a little uneven in warmth."""
    return 24.0 + 2.0 * jax.random.uniform(key, (ROWS, COLUMNS), dtype=jnp.float32)


@jax.jit
def turn(beans, flame):
    """One turn of the drum: the burner heats the lower half, the turning evens things out."""
    lower = jnp.where(jnp.arange(ROWS)[:, None] < ROWS // 2, 1.0, 0.9)
    around = jnp.roll(beans, 1, axis=0) + jnp.roll(beans, -1, axis=0)
    along = jnp.roll(beans, 1, axis=1) + jnp.roll(beans, -1, axis=1)
    evened = 0.6 * beans + 0.1 * (around + along)
    heated = evened + flame * lower
    return heated, heated.max(), heated.std()


@dataclass
class Roast:
    number: int
    flame: float
    beans: jax.Array
    turns: int = 0
    hottest: float = 0.0
    spread: float = 0.0


class RoastHouse:
    """Fills the drums, turns them and empties them when a roast is over."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.key = jax.random.PRNGKey(seed)
        self.drums = [None] * DRUMS
        self.log_book = {}
        self.filled = 0
        self.finished = 0
        self.scorched = 0

    def fill(self, drum):
        self.filled += 1
        self.key, sack = jax.random.split(self.key)
        roast = Roast(self.filled, self.dice.uniform(7.5, 13.0), fill_drum(sack))
        self.log_book[roast.number] = roast
        self.drums[drum] = roast.number

    def turn_drum(self, drum):
        roast = self.log_book[self.drums[drum]]
        roast.beans, hottest, spread = turn(roast.beans, roast.flame)
        roast.turns += 1
        roast.hottest = float(hottest)
        roast.spread = float(spread)
        if roast.hottest >= SCORCHED_AT:
            self.quench(drum)
        elif roast.turns >= FULL_TURNS:
            self.empty(drum)

    def empty(self, drum):
        """The roast is done; its beans go to the winnower."""
        self.log_book.pop(self.drums[drum])
        self.drums[drum] = None
        self.finished += 1

    def quench(self, drum):
        """The roast is cut short with water; its beans go to waste."""
        self.log_book.pop(self.drums[drum])
        self.drums[drum] = None
        self.scorched += 1

    def round(self):
        for drum, number in enumerate(self.drums):
            if number is None:
                self.fill(drum)
            self.turn_drum(drum)

    def state(self):
        running = [self.log_book[number] for number in self.drums if number is not None]
        hottest = max((roast.hottest for roast in running), default=0.0)
        spread = max((roast.spread for roast in running), default=0.0)
        return len(running), hottest, spread


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    house = RoastHouse(seed=88)
    until = time.monotonic() + seconds
    report_at = time.monotonic() + 2.0
    while time.monotonic() < until:
        house.round()
        if time.monotonic() >= report_at:
            report_at += 3.0
            running, hottest, spread = house.state()
            print(f"{running} drums turn, hottest {hottest:.1f} C, spread {spread:.2f} C; {house.finished} roasts "
                  f"to the winnower, {house.scorched} cut short", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"{house.filled} roasts begun, {house.finished} finished, {house.scorched} scorched", flush=True)


if __name__ == "__main__":
    main()
