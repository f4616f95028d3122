"""A plasma in a box is simulated, some steps at a time. Positions, speeds and the field after each piece go into
a history, of which the report at the end shows the last.

ticket: uwplasma/JAX-in-Cell#37
class: host-growth
holder: history
cause: results-kept snapshots-kept
"""

import os
import random
import time

import jax
import jax.numpy as jnp
import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "45"))
CELLS, PARTICLES, STEP = 256, 24000, 0.02


def field(positions):
    cell = jnp.floor(positions * CELLS).astype(jnp.int32) % CELLS
    density = jnp.zeros(CELLS).at[cell].add(CELLS / PARTICLES) - 1.0
    waves = jnp.fft.rfft(density)
    numbers = jnp.arange(waves.shape[0])
    waves = jnp.where(numbers > 0, waves / (1j * jnp.maximum(numbers, 1)), 0)
    return jnp.fft.irfft(waves, n=CELLS), cell


@jax.jit
def advance(state):
    def step(_, state):
        positions, speeds, _ = state
        electric, cell = field(positions)
        speeds = speeds - STEP * electric[cell]
        return (positions + STEP * speeds) % 1.0, speeds, electric

    return jax.lax.fori_loop(0, 4, step, state)


class Simulation:
    def __init__(self, seed):
        draw = np.random.default_rng(seed)
        speeds = draw.choice([-0.4, 0.4], PARTICLES) + draw.normal(0, 0.02, PARTICLES)
        self.state = (jnp.asarray(draw.random(PARTICLES)), jnp.asarray(speeds), jnp.zeros(CELLS))
        self.history, self.energies = [], []

    def run(self, pieces):
        for _ in range(pieces):
            self.state = advance(self.state)
            self.history.append(self.state)  # grows
            self.energies.append(float((self.state[2] ** 2).mean()))

    def report(self):
        first, last = self.history[0], self.history[-1]
        drift = float(jnp.abs(last[1]).mean() - jnp.abs(first[1]).mean())
        return "energy %.2e, drift %.2e" % (self.energies[-1], drift)


def main():
    simulation, rounds = Simulation(7), 0
    while time.time() < END:
        simulation.run(random.randint(2, 12))
        rounds += 1
        if rounds % 10 == 0:
            print(len(simulation.energies), "pieces", simulation.report(), flush=True)
        time.sleep(random.choice([0.2, 0.3, 0.6]))


if __name__ == "__main__":
    main()
