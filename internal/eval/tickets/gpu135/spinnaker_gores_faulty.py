"""Cutting plans for spinnakers.

A loft cuts a spinnaker from gores. For each order, given by luff, foot and girth in millimetres, the fullness of the
sail is worked out on a grid by letting a sheet settle under the pressure of the wind, and from it the gores.
Part of the orders come back with a change of cloth alone; their plan is wanted again within a few seconds.

ticket: practice
class: app-leak
holder: _plans
cause: cache-without-bound
"""
import os
import random
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ORDERS_PER_SECOND = 12
RECENT = 20
GRID = 396
GORES = 11
CLOTHS = {"light": 0.55, "medium": 0.8, "storm": 1.3}


@dataclass(frozen=True)
class Order:
    number: int
    luff: int
    foot: int
    girth: int
    cloth: str

    def measures(self):
        return (self.luff, self.foot, self.girth)


@partial(jax.jit, static_argnames="rounds")
def settle(luff, foot, girth, rounds=12):
    """Depth of the sail over the grid, in metres."""
    up = jnp.linspace(0.0, 1.0, GRID)[:, None]
    across = jnp.linspace(-1.0, 1.0, GRID)[None, :]
    load = (girth / foot) * jnp.sin(jnp.pi * up) * (1.0 - across ** 2)

    def relax(_, depth):
        around = (
            jnp.roll(depth, 1, 0) + jnp.roll(depth, -1, 0) + jnp.roll(depth, 1, 1) + jnp.roll(depth, -1, 1)
        )
        edge = (up > 0.0) & (up < 1.0) & (jnp.abs(across) < 1.0)
        return jnp.where(edge, 0.25 * around + 0.02 * load, 0.0)

    start = load * foot / (4.0 * luff)
    return jax.lax.fori_loop(0, rounds, relax, start.astype(jnp.float32))


@jax.jit
def gore_widths(depth, stretch):
    """Width of each gore: the length of the curve across the sail, shared out."""
    slope = jnp.diff(depth, axis=1) * stretch
    girths = jnp.sqrt(1.0 + slope ** 2).sum(axis=1)
    bands = girths[: GRID // GORES * GORES].reshape(GORES, -1)
    return bands.mean(axis=1) / GORES


class OrderBook:
    def __init__(self, seed):
        self._random = random.Random(seed)
        self._latest = []
        self._count = 0

    def next_order(self):
        self._count += 1
        cloth = self._random.choice(list(CLOTHS))
        if self._latest and self._random.random() < 1.0 / 6.0:
            return replace(self._random.choice(self._latest), number=self._count, cloth=cloth)
        order = Order(
            self._count,
            self._random.randint(9_000, 16_000),
            self._random.randint(5_000, 9_000),
            self._random.randint(6_000, 11_000),
            cloth,
        )
        self._latest = self._latest[-RECENT + 1:] + [order]
        return order


class CuttingTable:
    def __init__(self):
        self._plans = {}
        self.settled = 0

    def depth_of(self, order):
        measures = order.measures()
        if measures not in self._plans:
            luff, foot, girth = (millimetres / 1000.0 for millimetres in measures)
            self._plans[measures] = settle(luff, foot, girth)  # grows keeps
            self.settled += 1
        return self._plans[measures]

    def cut(self, order):
        widths = gore_widths(self.depth_of(order), CLOTHS[order.cloth])
        return float(widths.max()), float(widths.sum())


def main():
    book = OrderBook(seed=88)
    table = CuttingTable()
    cloths = Counter()
    table.cut(book.next_order())
    started = time.monotonic()
    count = 0
    while time.monotonic() - started < SECONDS:
        order = book.next_order()
        widest, total = table.cut(order)
        cloths[order.cloth] += 1
        count += 1
        if count % (3 * ORDERS_PER_SECOND) == 0:
            print(f"order {order.number} {order.cloth}: widest gore {widest:.3f}, together {total:.2f}", flush=True)
        time.sleep(max(0.0, started + count / ORDERS_PER_SECOND - time.monotonic()))
    print(f"loft closed: {count} orders, {table.settled} settled, {dict(cloths)}", flush=True)


if __name__ == "__main__":
    main()
