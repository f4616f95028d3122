"""Harbour pilots: a model of the set of the current along the fairway.

Pilots report the leeway of each passage; a small network learns it from draught, wind, tide and position. The
reports come in blocks of one watch. When a block of reports turns out bad (a faulty log, say), training goes
back by a few steps and carries on from there.

ticket: practice
class: none
"""
import os
import time

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_A_SECOND = 5
FEATURES = 256
HIDDEN = 512
BATCH = 128
BLOCKS = 64
REWIND_STEPS = 8
RATE = 0.02


def initial_params(seed):
    first, second = jax.random.split(jax.random.PRNGKey(seed))
    return {
        "inner": jax.random.normal(first, (FEATURES, HIDDEN)) / FEATURES ** 0.5,
        "outer": jax.random.normal(second, (HIDDEN, FEATURES)) / HIDDEN ** 0.5,
        "bias": jnp.zeros((FEATURES,)),
    }


def leeway(params, reports):
    hidden = jnp.tanh(reports @ params["inner"])
    return hidden @ params["outer"] + params["bias"]


def mean_error(params, reports, observed):
    return jnp.mean((leeway(params, reports) - observed) ** 2)


@jax.jit
def train_step(params, reports, observed):
    error, slopes = jax.value_and_grad(mean_error)(params, reports, observed)
    params = jax.tree_util.tree_map(lambda weight, slope: weight - RATE * slope, params, slopes)
    return params, error


class WatchReports:
    """Blocks of reports; one in some twenty comes from a ship with a faulty log."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        reports = rng.standard_normal((BLOCKS, BATCH, FEATURES), dtype=np.float32)
        drift = rng.standard_normal((FEATURES, FEATURES), dtype=np.float32) / FEATURES ** 0.5
        observed = np.tanh(reports @ drift)
        observed[11::23] *= 12.0
        self.reports = jax.device_put(reports)
        self.observed = jax.device_put(observed)

    def block(self, number):
        place = number % BLOCKS
        return self.reports[place], self.observed[place]


class PassageTrainer:
    """Trains step by step and can go back by REWIND_STEPS."""

    def __init__(self, reports):
        self.reports = reports
        self.params = initial_params(3)
        self.step = 0
        self.usual_error = None
        self.rewinds = 0
        self.params_at = {}

    def advance(self):
        reports, observed = self.reports.block(self.step)
        self.params, error = train_step(self.params, reports, observed)
        self.step += 1
        self.remember()
        error = float(error)
        if self.usual_error is not None and error > 6.0 * self.usual_error:
            self.rewind()
        else:
            usual = error if self.usual_error is None else self.usual_error
            self.usual_error = 0.95 * usual + 0.05 * error
        return error

    def remember(self):
        self.params_at[self.step] = self.params
        self.params_at.pop(self.step - REWIND_STEPS - 1, None)

    def rewind(self):
        earlier = self.params_at.get(self.step - REWIND_STEPS)
        if earlier is not None:
            self.params = earlier
            self.rewinds += 1

    def check(self):
        reports, observed = self.reports.block(0)
        return float(mean_error(self.params, reports, observed))


def main():
    trainer = PassageTrainer(WatchReports(17))
    start = time.monotonic()
    due, next_print = start, start + 2.0
    while time.monotonic() - start < SECONDS:
        error = trainer.advance()
        if time.monotonic() >= next_print:
            next_print += 2.0
            print(f"step {trainer.step}: error {error:.4f}, check {trainer.check():.4f}, "
                  f"{trainer.rewinds} rewinds", flush=True)
        due += 1.0 / STEPS_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"model handed to the pilots after {trainer.step} steps", flush=True)


if __name__ == "__main__":
    main()
