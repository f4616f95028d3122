"""Shallow water on a canoe slalom channel. The depth and the two speeds of the water are stepped on a grid;
boulders make the eddies in which boats turn. Should the flow run wild (too much water let in), the simulation
goes back to a stored state and proceeds with less inflow.

ticket: practice
class: none
"""
import os
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))

PERIOD = 0.25
ROWS, COLS = 256, 512
SUBSTEPS = 6
GRAVITY = 9.81
RESTARTS = 8
WILD = 6.0
LANES = 40


def gradient(field, axis):
    return 0.5 * (jnp.roll(field, -1, axis) - jnp.roll(field, 1, axis))


def smooth(field, amount):
    around = sum(jnp.roll(field, shift, axis) for shift in (1, -1) for axis in (0, 1))
    return field + amount * (0.25 * around - field)


@partial(jax.jit, static_argnames="substeps")
def advance(state, bed, boulders, inflow, substeps):
    """Steps the water; the boulders bring its speed to nought where they stand."""
    dt = 0.02

    def body(_, now):
        depth, along, across = now["depth"], now["along"], now["across"]
        surface = depth + bed
        along = along - dt * (GRAVITY * gradient(surface, 1) + along * gradient(along, 1))
        across = across - dt * (GRAVITY * gradient(surface, 0) + along * gradient(across, 1))
        along = smooth(along, 0.3).at[:, 0].set(inflow) * boulders
        across = smooth(across, 0.3) * boulders
        flux = gradient(depth * along, 1) + gradient(depth * across, 0)
        depth = jnp.clip(smooth(depth - dt * flux, 0.2), 0.05, 4.0)
        return {"depth": depth, "along": along, "across": across}

    return jax.lax.fori_loop(0, substeps, body, state)


@jax.jit
def eddies(state):
    """Mean turn of the water, and the greatest speed."""
    turn = gradient(state["across"], 1) - gradient(state["along"], 0)
    speed = jnp.sqrt(state["along"] ** 2 + state["across"] ** 2)
    return jnp.abs(turn).mean(), speed.max()


class Channel:
    def __init__(self, seed):
        key_bed, key_rock, key_lane = jax.random.split(jax.random.PRNGKey(seed), 3)
        slope = jnp.linspace(0.6, 0.0, COLS)[None, :]
        self.bed = slope + 0.02 * jax.random.normal(key_bed, (ROWS, COLS))
        self.boulders = (jax.random.uniform(key_rock, (ROWS, COLS)) > 0.01).astype(jnp.float32)
        self.lanes = jax.random.uniform(key_lane, (LANES, ROWS, COLS))
        self.state = {
            "depth": jnp.full((ROWS, COLS), 0.8, jnp.float32),
            "along": jnp.full((ROWS, COLS), 0.5, jnp.float32),
            "across": jnp.zeros((ROWS, COLS), jnp.float32),
        }
        self.inflow = 1.2
        self.restarts = {}
        self.tick = 0
        self.returns = 0

    def step(self):
        self.state = advance(self.state, self.bed, self.boulders, self.inflow, SUBSTEPS)
        turn, speed = (float(value) for value in eddies(self.state))
        if not speed < WILD:
            self.go_back()
        else:
            self.restarts[self.tick % RESTARTS] = self.state
            self.inflow = min(self.inflow + 0.002, 1.6)
        self.tick += 1
        return turn, speed

    def go_back(self):
        self.inflow *= 0.8
        self.returns += 1
        if self.restarts:
            self.state = self.restarts[min(self.restarts, key=lambda slot: (slot - self.tick) % RESTARTS)]

    def lane_depth(self):
        weights = self.lanes[self.tick % LANES]
        return float((weights * self.state["depth"]).sum() / weights.sum())


def main():
    channel = Channel(seed=71)
    began = time.monotonic()
    due = began
    shown = began
    while time.monotonic() - began < SECONDS:
        turn, speed = channel.step()
        if time.monotonic() - shown >= 3.0:
            shown = time.monotonic()
            depth = channel.lane_depth()
            print(f"tick {channel.tick}: turn {turn:.4f}, speed {speed:.2f} m/s, lane {depth:.2f} m", flush=True)
        due = max(due + PERIOD, time.monotonic() - 1.0)
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"channel closed after {channel.tick} ticks, went back {channel.returns} times", flush=True)


if __name__ == "__main__":
    main()
