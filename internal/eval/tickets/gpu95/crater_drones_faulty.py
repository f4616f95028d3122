"""A drone learns to sample the gas over a crater (deep Q-learning in JAX on a simple plume model).

The drone sees the readings of its sensor heads and chooses one of eight headings; a reading near the axis of the
plume is rewarded, a hot one is punished. What it lived through goes into a bounded replay, from which the network
is trained at each step. Twice a second the present policy is enrolled in a league, and now and then it is compared
with one of the latest four policies there.

    ticket: practice
    class: app-leak
    holder: rivals
    cause: snapshots-kept
"""
import collections
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SENSORS, HEADINGS, HIDDEN = 96, 8, 1024
FLOCK = 512
REPLAY = 40
SEATS = 4
ENROL_EVERY = 4
RATE = 3e-4

Flight = collections.namedtuple("Flight", "seen heading reward after")


def new_policy(key):
    first, second, third = jax.random.split(key, 3)
    return {
        "sense": {"w": jax.random.normal(first, (SENSORS, HIDDEN)) * 0.1, "b": jnp.zeros(HIDDEN)},
        "think": {"w": jax.random.normal(second, (HIDDEN, HIDDEN)) * 0.03, "b": jnp.zeros(HIDDEN)},
        "steer": {"w": jax.random.normal(third, (HIDDEN, HEADINGS)) * 0.03, "b": jnp.zeros(HEADINGS)},
    }


def worth(policy, seen):
    x = jax.nn.relu(seen @ policy["sense"]["w"] + policy["sense"]["b"])
    x = jax.nn.relu(x @ policy["think"]["w"] + policy["think"]["b"])
    return x @ policy["steer"]["w"] + policy["steer"]["b"]


def surprise(policy, flight):
    chosen = jnp.take_along_axis(worth(policy, flight.seen), flight.heading[:, None], axis=1)[:, 0]
    hoped = flight.reward + 0.95 * worth(policy, flight.after).max(axis=1)
    return jnp.mean(jnp.square(chosen - jax.lax.stop_gradient(hoped)))


def train(policy, speed, flight):
    loss, slope = jax.value_and_grad(surprise)(policy, flight)
    speed = jax.tree_util.tree_map(lambda v, g: 0.9 * v + jnp.clip(g, -1.0, 1.0), speed, slope)
    policy = jax.tree_util.tree_map(lambda p, v: p - RATE * v, policy, speed)
    return policy, speed, loss


def fly(policy, seen, key):
    """One move of the whole flock; every drone takes a random heading once in ten."""
    explore, pick, noise = jax.random.split(key, 3)
    best = worth(policy, seen).argmax(axis=1)
    wild = jax.random.randint(pick, best.shape, 0, HEADINGS)
    heading = jnp.where(jax.random.uniform(explore, best.shape) < 0.1, wild, best)
    shift = jnp.roll(seen, 1, axis=1) * jnp.cos(heading * jnp.pi / 4)[:, None]
    after = jnp.tanh(0.8 * seen + 0.3 * shift + 0.1 * jax.random.normal(noise, seen.shape))
    reward = after[:, : SENSORS // 2].mean(axis=1) - 0.5 * jnp.square(after[:, SENSORS // 2:]).mean(axis=1)
    return Flight(seen, heading, reward, after)


train_jit = jax.jit(train, donate_argnums=(0, 1))
fly_jit = jax.jit(fly)
score_jit = jax.jit(lambda policy, seen: worth(policy, seen).max(axis=1).mean())


class League:
    """Earlier policies under the step at which they were enrolled."""

    def __init__(self, seed):
        self.rivals = {}
        self.dice = random.Random(seed)

    def enrol(self, step, policy):
        copied = jax.tree_util.tree_map(lambda leaf: jnp.array(leaf, copy=True), policy)  # grows
        self.rivals[step] = copied  # keeps

    def margin(self, policy, seen):
        latest = sorted(self.rivals)[-SEATS:]
        rival = self.rivals[self.dice.choice(latest)]
        return float(score_jit(policy, seen)) - float(score_jit(rival, seen))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    key = jax.random.PRNGKey(1980)
    policy = new_policy(key)
    speed = jax.tree_util.tree_map(jnp.zeros_like, policy)
    replay = collections.deque(maxlen=REPLAY)
    league = League(seed=18)
    seen = jnp.zeros((FLOCK, SENSORS))
    step = 0
    while True:
        key, turn = jax.random.split(key)
        flight = fly_jit(policy, seen, turn)
        replay.append(flight)
        seen = flight.after
        policy, speed, loss = train_jit(policy, speed, league.dice.choice(replay))
        if step % ENROL_EVERY == 0:
            league.enrol(step, policy)
        if step % 32 == 31:
            margin = league.margin(policy, seen)
            print(f"step {step}: surprise {float(loss):.4f}, margin {margin:+.4f}, replay {len(replay)}", flush=True)
        step += 1
        if time.time() > end:
            break
        time.sleep(0.12)


if __name__ == "__main__":
    main()
