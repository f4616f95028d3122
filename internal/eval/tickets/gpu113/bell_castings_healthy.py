"""Casting floor of a bell foundry, in JAX.

Small bells are poured without a break. The heat of each casting is taken as a field over its mould and joins the row
that waits for the knock-out crew. The crew shares its time between the pit and the floor: when it comes to the floor
it lets the castings cool on in the model, looks for cold shuts and breaks the moulds, lot by lot.

ticket: practice
class: none
"""
import os
import queue
import time

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
POURS_PER_ROUND = 2
CYCLE = 40
AT_THE_PIT = 24
LOT = 6
MOULD = (256, 512)
PIT_BELLS = 64


@jax.jit
def pour(key, temperature):
    """Field of heat in a mould just after the pour."""
    splash = jax.random.normal(key, MOULD)
    u = jnp.linspace(-1.0, 1.0, MOULD[0])[:, None]
    v = jnp.linspace(-1.0, 1.0, MOULD[1])[None, :]
    return temperature * (1.0 - 0.2 * u * u - 0.1 * v * v) + 6.0 * splash


@jax.jit
def cool(field, minutes):
    """Let the heat spread in the mould and go out into the sand."""

    def one(_, heat):
        spread = (
            jnp.roll(heat, 1, 0) + jnp.roll(heat, -1, 0) + jnp.roll(heat, 1, 1) + jnp.roll(heat, -1, 1)
        ) / 4.0
        return 20.0 + (0.5 * heat + 0.5 * spread - 20.0) * (1.0 - 0.004 * minutes)

    return jax.lax.fori_loop(0, 4, one, field)


@jax.jit
def cold_shuts(field):
    """Share of the mould where the metal has set too early."""
    return jnp.mean(field < jnp.mean(field) - 2.0 * jnp.std(field))


@jax.jit
def tend_pit(heats, turn):
    """One step of the large bells in the pit."""
    bell = heats[turn]
    return heats.at[turn].set(20.0 + (bell - 20.0) * 0.9995)


class CastingFloor:
    """The row of castings between the furnace and the knock-out crew."""

    def __init__(self, seed):
        self.key = jax.random.PRNGKey(seed)
        self._cooling = queue.Queue()
        self.poured = 0
        self.knocked_out = 0
        self.faults = 0.0

    def pour_round(self):
        for _ in range(POURS_PER_ROUND):
            self.key, drop = jax.random.split(self.key)
            casting = pour(drop, 1080.0 + self.poured % 40)
            self._cooling.put((self.poured, casting))
            self.poured += 1

    def knock_out_round(self):
        for _ in range(LOT):
            try:
                number, casting = self._cooling.get_nowait()
            except queue.Empty:
                return
            age = min(30.0, 0.1 * (self.poured - number))
            share = float(cold_shuts(cool(casting, age)))
            self.faults += 0.05 * (share - self.faults)
            self.knocked_out += 1


class Pit:
    """Large bells that cool for days."""

    def __init__(self, seed):
        key = jax.random.PRNGKey(seed)
        self.heats = 900.0 + 30.0 * jax.random.normal(key, (PIT_BELLS, *MOULD))
        self.turn = 0

    def tend(self):
        self.heats = tend_pit(self.heats, self.turn)
        self.turn = (self.turn + 1) % PIT_BELLS

    def warmest(self):
        return float(jnp.max(self.heats[self.turn]))


def main():
    floor = CastingFloor(seed=1738)
    pit = Pit(seed=12)
    started = time.monotonic()
    next_report = started + 3.0
    rounds = 0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        floor.pour_round()
        if rounds % CYCLE < AT_THE_PIT:
            pit.tend()
        else:
            floor.knock_out_round()
        rounds += 1
        if began >= next_report:
            print(
                f"round {rounds:4d}  poured {floor.poured:4d}  knocked out {floor.knocked_out:4d}  "
                f"cold shuts {floor.faults:.4f}  pit {pit.warmest():.0f} C",
                flush=True,
            )
            next_report += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"furnace off: {floor.poured} poured, {floor.knocked_out} knocked out", flush=True)


if __name__ == "__main__":
    main()
