"""Learning the swing of picking arms in an orchard with JAX.

A set of sixty-four simulated arms reaches for apples at random places; each rollout gives the trajectories of
the joints. A small dynamics model is fitted to rollouts drawn from the recent ones, so that the planner on the
tractor can tell how far a tip will overshoot.

ticket: practice
class: app-leak
holder: _rollouts
cause: buffer-without-bound
"""
import os
import random
import time
from collections import deque
from functools import partial

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROLLOUTS_PER_SECOND = 10
ARMS, JOINTS, STEPS = 64, 6, 410
DRAWN = 4
DT = 0.02
SETTINGS = {
    "replay_rollouts": 30,
    "learning_rate": 0.02,
    "hidden": 96,
    "stiffness": 9.0,
    "friction": 1.6,
}


def init_model(key, hidden):
    k1, k2 = jax.random.split(key)
    return {
        "w1": jax.random.normal(k1, (JOINTS, hidden)) * 0.3,
        "b1": jnp.zeros(hidden),
        "w2": jax.random.normal(k2, (hidden, JOINTS)) * 0.05,
        "b2": jnp.zeros(JOINTS),
    }


def predict(model, angles):
    hidden = jnp.tanh(angles @ model["w1"] + model["b1"])
    return angles + hidden @ model["w2"] + model["b2"]


@partial(jax.jit, static_argnames=("stiffness", "friction"))
def reach(key, stiffness, friction):
    """One rollout: joint angles of all arms, step by step, on the way to an apple."""
    start_key, goal_key = jax.random.split(key)
    angles = 0.2 * jax.random.normal(start_key, (ARMS, JOINTS))
    goals = jax.random.uniform(goal_key, (ARMS, JOINTS), minval=-1.2, maxval=1.2)

    def advance(state, _):
        position, velocity = state
        pull = stiffness * (goals - position) - friction * velocity
        velocity = velocity + DT * pull
        position = position + DT * velocity
        return (position, velocity), position

    _, path = jax.lax.scan(advance, (angles, jnp.zeros_like(angles)), None, length=STEPS)
    return path


@jax.jit
def fit_step(model, paths, rate):
    def loss_of(model):
        thinned = paths[:, ::8]
        return jnp.mean((predict(model, thinned[:, :-1]) - thinned[:, 1:]) ** 2)

    loss, grads = jax.value_and_grad(loss_of)(model)
    return jax.tree_util.tree_map(lambda p, g: p - rate * g, model, grads), loss


@jax.jit
def overshoot(path):
    return jnp.mean(jnp.max(jnp.abs(path), axis=0) - jnp.abs(path[-1]))


class Replay:
    """The recent rollouts, from which the fit draws some at random."""

    def __init__(self, settings, seed=12):
        self._rollouts = deque(maxlen=settings.get("replay_len"))
        self.rng = random.Random(seed)

    def add(self, path):
        self._rollouts.append(path)  # keeps

    def draw(self, count):
        picks = [self.rng.randrange(len(self._rollouts)) for _ in range(count)]
        return jnp.stack([self._rollouts[pick] for pick in picks])


class ArmSchool:
    def __init__(self, settings):
        self.settings = settings
        self.replay = Replay(settings)
        self.key, model_key = jax.random.split(jax.random.PRNGKey(58))
        self.model = init_model(model_key, settings["hidden"])
        self.loss = 0.0

    def lesson(self):
        self.key, reach_key = jax.random.split(self.key)
        path = reach(reach_key, self.settings["stiffness"], self.settings["friction"])  # grows
        self.replay.add(path)
        paths = self.replay.draw(DRAWN)
        self.model, loss = fit_step(self.model, paths, self.settings["learning_rate"])
        self.loss = float(loss)
        return path


def main():
    school = ArmSchool(SETTINGS)
    started = time.monotonic()
    due = started
    lessons = 0
    while time.monotonic() - started < SECONDS:
        path = school.lesson()
        lessons += 1
        if lessons % (3 * ROLLOUTS_PER_SECOND) == 0:
            print(f"lesson {lessons}: loss {school.loss:.6f}, overshoot {float(overshoot(path)):.3f} rad", flush=True)
        due = max(due + 1.0 / ROLLOUTS_PER_SECOND, time.monotonic() - 1.0)
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"{lessons} lessons given, loss {school.loss:.6f}", flush=True)


if __name__ == "__main__":
    main()
