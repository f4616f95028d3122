"""Find a salt dome from sound: full waveform inversion on a small grid in JAX. Each sweep fires all shots through the
present guess of the speed of sound, and the pullback of each shot's forward run takes the misfit back to the speeds.
The sum of the gradients, smoothed, mends the guess.

ticket: practice
class: app-leak
holder: pullbacks
cause: closure-kept results-kept
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

GRID, STEPS = 144, 50
SHOTS = {"west": 24, "middle": 72, "east": 120}
RECEIVERS = jnp.arange(8, GRID - 8, 4)
RATE = 0.004

ticks = jnp.arange(STEPS)
wavelet = jnp.sin(0.5 * ticks) * jnp.exp(-0.5 * ((ticks - 10) / 5) ** 2)


def laplacian(field):
    return (jnp.roll(field, 1, 0) + jnp.roll(field, -1, 0) + jnp.roll(field, 1, 1) + jnp.roll(field, -1, 1)
            - 4 * field)


@jax.jit
def forward(speed, column):
    """What the receivers at the surface hear of a shot at this column."""

    def step(fields, pulse):
        now, before = fields
        after = 2 * now - before + speed ** 2 * laplacian(now)
        after = (0.998 * after).at[4, column].add(pulse)
        return (after, now), after[6, RECEIVERS]

    still = jnp.zeros((GRID, GRID))
    return lax.scan(step, (still, still), wavelet)[1]


@jax.jit
def mend(speed, gradient):
    for _ in range(4):
        gradient = gradient + 0.2 * laplacian(gradient)
    return jnp.clip(speed - RATE * gradient / (jnp.abs(gradient).max() + 1e-9), 0.2, 0.65)


rows, columns = np.mgrid[:GRID, :GRID]
background = (0.35 + 0.1 * rows / GRID).astype(np.float32)
dome = background + 0.15 * np.exp(-((rows - 40) ** 2 + (columns - 80) ** 2) / 200).astype(np.float32)
truth, start = jnp.asarray(dome), jnp.asarray(background)
observed = {shot: forward(truth, column) for shot, column in SHOTS.items()}

speed = start
pullbacks = {shot: [] for shot in SHOTS}
end = time.time() + float(os.environ.get("SECONDS", "45"))
sweep, first = 0, None
while time.time() < end:
    misfit, residuals = 0.0, {}
    for shot, column in SHOTS.items():
        heard, pullback = jax.vjp(lambda guess, column=column: forward(guess, column), speed)  # grows
        pullbacks[shot].append(pullback)  # keeps
        residuals[shot] = heard - observed[shot]
        misfit += float(jnp.square(residuals[shot]).sum())
        time.sleep(random.uniform(0.05, 0.15))

    gradient = jnp.zeros((GRID, GRID))
    for shot in SHOTS:
        gradient += pullbacks[shot][-1](residuals[shot])[0]
    speed = mend(speed, gradient)
    sweep += 1
    first = first or misfit

    if sweep % 10 == 0:
        error = float(jnp.abs(speed - truth).mean())
        print(f"sweep {sweep}: misfit {misfit / first:.4f} of the first, mean error {error:.4f}", flush=True)
    if sweep % 60 == 0:
        print("a new start from the background")
        speed = start + 0.005 * random.random()
    time.sleep(0.2)

print("sweeps:", sweep)
