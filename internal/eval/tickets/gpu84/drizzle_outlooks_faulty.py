"""Twelve-hour drizzle outlooks for a coastal grid, checked against the gauges as they come in.

Every hour of the simulated weather an ensemble of sixteen rain fields is pulled towards the newest
gauges and carried twelve hours ahead with wind, spreading and chance.  Such an outlook then waits
for the twelve hours it speaks of: whenever gauges report, each outlook looks up its own hour and
enters its error in a ledger, which the forecasters read as a table of error by lead time.

ticket: practice
class: app-leak
holder: listeners
cause: callbacks-left
"""
import os
import time
from collections import deque

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

HOURS = 12
MEMBERS = 16
SIDE = 96


def blow(field):
    """One hour of wind from the south-west and a little spreading."""
    moved = 0.55 * jnp.roll(field, 1, axis=-1) + 0.30 * jnp.roll(field, -1, axis=-2) + 0.15 * field
    around = (jnp.roll(moved, 1, axis=-1) + jnp.roll(moved, -1, axis=-1)
              + jnp.roll(moved, 1, axis=-2) + jnp.roll(moved, -1, axis=-2))
    return moved + 0.04 * (around - 4.0 * moved)


@jax.jit
def carry_ahead(members, key):
    def hour(state, hour_key):
        chance = 0.03 * jax.random.normal(hour_key, state.shape)
        state = jnp.maximum(0.99 * blow(state) + chance, 0.0)
        return state, state

    _, path = jax.lax.scan(hour, members, jax.random.split(key, HOURS))
    return path


@jax.jit
def next_truth(truth, key):
    source_key, gauge_key = jax.random.split(key)
    showers = jnp.maximum(jax.random.normal(source_key, truth.shape) - 2.0, 0.0)
    truth = jnp.maximum(0.98 * blow(truth) + 0.4 * showers, 0.0)
    gauges = truth + 0.02 * jax.random.normal(gauge_key, truth.shape)
    return truth, gauges


@jax.jit
def pull(members, gauges, key):
    spread = 0.05 * jax.random.normal(key, members.shape)
    return jnp.maximum(0.6 * members + 0.4 * gauges[None] + spread, 0.0)


@jax.jit
def misfit(path, lead, gauges):
    members = jax.lax.dynamic_index_in_dim(path, lead, axis=0, keepdims=False)
    inner = jnp.abs(members - gauges[None]).mean()
    outer = jnp.abs(members - jnp.roll(members, 1, axis=0)).mean()
    return inner - 0.5 * outer


class GaugeFeed:
    """Hands every new set of gauge readings to all who asked for them."""

    def __init__(self):
        self.listeners = []

    def subscribe(self, listener):
        self.listeners.append(listener)

    def unsubscribe(self, listener):
        self.listeners.remove(listener)

    def publish(self, hour, gauges):
        for listener in list(self.listeners):
            listener(hour, gauges)


class Ledger:
    def __init__(self):
        self.columns = [deque(maxlen=40) for _ in range(HOURS)]

    def enter(self, lead, error):
        self.columns[lead].append(error)

    def mean(self, lead):
        column = self.columns[lead]
        return sum(column) / len(column) if column else float("nan")


class Outlook:
    def __init__(self, issued, path, ledger, feed):
        self.issued = issued
        self.path = path
        self.ledger = ledger
        self.feed = feed
        self.feed.subscribe(self.verify)  # keeps

    def verify(self, hour, gauges):
        lead = hour - self.issued - 1
        if lead < 0 or lead >= HOURS:
            return
        self.ledger.enter(lead, float(misfit(self.path, np.int32(lead), gauges)))


def main():
    ends = time.time() + float(os.environ.get("SECONDS", "45"))
    key = jax.random.key(1999)
    feed, ledger = GaugeFeed(), Ledger()
    truth = jnp.zeros((SIDE, SIDE), jnp.float32)
    members = jnp.zeros((MEMBERS, SIDE, SIDE), jnp.float32)
    print(f"forecasting on {jax.devices()[0].platform}", flush=True)
    hour = 0
    while time.time() < ends:
        key, truth_key, pull_key, path_key = jax.random.split(key, 4)
        truth, gauges = next_truth(truth, truth_key)
        feed.publish(hour, gauges)
        members = pull(members, gauges, pull_key)
        path = carry_ahead(members, path_key)  # grows
        Outlook(hour, path, ledger, feed)
        members = path[0]
        if hour % 20 == 0:
            print(f"hour {hour}: error after 1 h {ledger.mean(0):.4f}, 6 h {ledger.mean(5):.4f}, "
                  f"12 h {ledger.mean(11):.4f}", flush=True)
        hour += 1
        time.sleep(0.2)
    print(f"{hour} outlooks issued", flush=True)


if __name__ == "__main__":
    main()
