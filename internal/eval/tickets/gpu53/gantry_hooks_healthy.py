"""A gantry crane sets containers down without letting the hook swing. At each step the cross-entropy method looks for
the best pulls over the next second. A search starts from the pulls that an earlier one ended with, where the hook was
in the same place, since that saves rounds.

ticket: practice
class: none
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

PLANS, STEPS, ROUNDS, ELITE = 2048, 50, 4, 128
TICK, KNOWN = 0.05, 20


def swing(state, pull):
    """The trolley's place and speed and the hook's angle and turn, one tick on."""
    place, speed, angle, turn = state
    force = 4 * jnp.tanh(pull[0])
    lift = 0.2 * jnp.tanh(pull[1])
    bend = -9.8 * jnp.sin(angle) / (6.0 + lift) - force * jnp.cos(angle) / (6.0 + lift)
    after = place + TICK * speed, 0.99 * speed + TICK * force, angle + TICK * turn, 0.995 * turn + TICK * bend
    return jnp.array(after)


def cost(state, pulls, target):
    def tick(state, pull):
        state = swing(state, pull)
        return state, (state[0] - target) ** 2 + 10 * state[2] ** 2 + 0.01 * (pull ** 2).sum()

    return jax.lax.scan(tick, state, pulls)[1].sum()


@jax.jit
def search(key, state, target, plans):
    """The plans after a few rounds, the best one first."""
    def improve(plans, key):
        costs = jax.vmap(cost, (None, 0, None))(state, plans, target)
        elite = plans[jnp.argsort(costs)[:ELITE]]
        noise = jax.random.normal(key, plans.shape)
        drawn = elite.mean(0) + (elite.std(0) + 0.05) * noise
        return drawn.at[:ELITE].set(elite), costs.min()

    plans, costs = jax.lax.scan(improve, plans, jax.random.split(key, ROUNDS))
    return plans, costs[-1]


class Controller:
    def __init__(self, key):
        self.key, self.known = key, {}

    def pull(self, state, target):
        self.key, fresh, search_key = jax.random.split(self.key, 3)
        where = tuple(np.round(np.asarray(state), 4).tolist()), target
        plans = self.known.get(where)
        if plans is None:
            plans = jax.random.normal(fresh, (PLANS, STEPS, 2))
        plans, least = search(search_key, state, target, plans)
        self.known[where] = plans
        if len(self.known) > KNOWN:
            del self.known[next(iter(self.known))]
        return plans[0, 0], float(least)


def main():
    controller, steps = Controller(jax.random.PRNGKey(random.getrandbits(31))), 0
    state, target, go = jnp.zeros(4), 5.0, jax.jit(swing)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pull, least = controller.pull(state, target)
        state = go(state, pull) + 0.002 * np.random.randn(4).astype(np.float32)
        steps += 1
        if steps % 60 == 0:
            target = random.choice((-5.0, 0.0, 5.0))
        if steps % 20 == 0:
            print(f"step {steps}: trolley at {float(state[0]):.2f} m of {target}, cost {least:.2f}", flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
