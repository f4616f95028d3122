"""The depth of a tidal basin is found from the water levels that a storm left at its gauges. Waves are run over the
present depths, the misfit at the gauges is carried back, and the depths are corrected. So that a step does not zigzag,
the direction is the mean of the present pullback and the one of the step before.

ticket: practice
class: app-leak
holder: pullbacks Survey survey
cause: closure-kept buffer-without-bound
"""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

CELLS, STEPS = 192, 32
GAUGES, RATE = 24, 0.02


def bend(level):
    """The Laplacian of the water level, with the coasts joined left to right and top to bottom."""
    level_x = jnp.roll(level, 1, 0) + jnp.roll(level, -1, 0)
    level_y = jnp.roll(level, 1, 1) + jnp.roll(level, -1, 1)
    return level_x + level_y - 4 * level


@jax.jit
def gauges(depth, storm):
    """The levels at the gauges, step by step, for these depths and this storm."""
    speed = 0.4 * jax.nn.sigmoid(depth)

    def step(state, _):
        before, now = state
        after = 2 * now - before + speed * bend(now) - 0.01 * (now - before)
        return (now, after), after[:: CELLS // GAUGES, CELLS // 2]

    _, levels = jax.lax.scan(step, (storm, storm), None, length=STEPS)
    return levels


@jax.jit
def storm_at(key):
    """A storm is a hump of water somewhere in the basin."""
    place = jax.random.uniform(key, (2,), minval=40.0, maxval=CELLS - 40.0)
    x, y = jnp.meshgrid(jnp.arange(CELLS), jnp.arange(CELLS), indexing="ij")
    return jnp.exp(-((x - place[0]) ** 2 + (y - place[1]) ** 2) / 120.0)


class Survey:
    """The present depths, and what the steps before leave for the next one."""

    def __init__(self, truth):
        self.truth = truth
        self.depth = jnp.zeros_like(truth)
        self.pullbacks = []

    def step(self, storm):
        levels, pullback = jax.vjp(lambda depth: gauges(depth, storm), self.depth)  # grows
        misfit = levels - gauges(self.truth, storm)
        self.pullbacks.append(pullback)  # keeps
        recent = [self.pullbacks[-1], self.pullbacks[max(len(self.pullbacks) - 2, 0)]]
        direction = sum(back(misfit)[0] for back in recent) / 2
        self.depth = self.depth - RATE * direction / (jnp.abs(direction).max() + 1e-8)
        return float(jnp.mean(misfit**2))


def main():
    key = jax.random.PRNGKey(7)
    x = jnp.linspace(0.0, 6.0, CELLS)
    survey, count, mean = Survey(jnp.sin(x)[:, None] * jnp.cos(1.5 * x)[None, :]), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, sub = jax.random.split(key)
        misfit = survey.step(storm_at(sub))
        mean = misfit if count == 0 else 0.95 * mean + 0.05 * misfit
        count += 1
        if count % 15 == 0:
            error = float(jnp.abs(survey.depth - survey.truth).mean())
            print(f"storm {count}: misfit {mean:.2e}, mean error of depth {error:.3f}", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
