"""How many eels pass the weir? Hourly counts are Poisson with a log rate that walks at random (slower in moonlight). A
bootstrap particle filter follows the rate hour by hour. The report gives the filtered mean and the smoothed mean LAG
hours ago, for which the ancestry of the particles is traced back.

ticket: practice
class: none
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import math
import statistics
import time
from dataclasses import dataclass
from typing import Optional

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, logsumexp

N = 400_000         # particles
LAG = 6             # hours of hindsight
PULL = 0.97         # of the log rate towards its mean
MEAN = math.log(40)
SD = 0.25


@dataclass
class Hour:
    """The particles after resampling, and where in the hour before each one comes from."""
    logs: jax.Array
    ancestors: Optional[jax.Array]
    parent: Optional["Hour"]


def river(rng):
    """The truth and what the counter sees of it."""
    log_rate, hour = MEAN, 0
    while True:
        moon = 0.5 + 0.5 * math.cos(2 * math.pi * hour / 708)
        log_rate = MEAN + PULL * (log_rate - MEAN) + SD * rng.standard_normal()
        rate = math.exp(log_rate - 0.8 * moon)
        yield moon, rate, int(rng.poisson(rate))
        hour += 1


@jax.jit
def advance(key, logs, moon, count):
    """One hour of the filter: propagate, weigh, resample systematically."""
    noise_key, comb_key = jax.random.split(key)
    logs = MEAN + PULL * (logs - MEAN) + SD * jax.random.normal(noise_key, logs.shape)
    log_rates = logs - 0.8 * moon
    log_weights = count * log_rates - jnp.exp(log_rates)
    evidence = logsumexp(log_weights) - math.log(N) - gammaln(count + 1.0)
    cumulated = jnp.cumsum(jax.nn.softmax(log_weights))
    comb = (jnp.arange(N) + jax.random.uniform(comb_key)) / N
    ancestors = jnp.clip(jnp.searchsorted(cumulated, comb), 0, N - 1).astype(jnp.int32)
    return logs[ancestors], ancestors, evidence


@jax.jit
def step_back(lineage, ancestors):
    return ancestors[lineage]


@jax.jit
def mean_rate(logs, lineage):
    return jnp.exp(logs[lineage]).mean()


def smooth(state):
    """Mean rate LAG hours before the state (or at the start), seen from the state."""
    lineage, hour = jnp.arange(N, dtype=jnp.int32), state
    for _ in range(LAG):
        if hour.parent is None:
            break
        lineage, hour = step_back(lineage, hour.ancestors), hour.parent
    hour.parent = None
    return float(mean_rate(hour.logs, lineage))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    key, everyone = jax.random.key(2024), jnp.arange(N, dtype=jnp.int32)
    state = Hour(MEAN + SD * jax.random.normal(key, (N,)), None, None)
    errors, log_evidence = [0.0] * 24, 0.0
    for hour, (moon, rate, count) in enumerate(river(np.random.default_rng(5))):
        key, subkey = jax.random.split(key)
        logs, ancestors, evidence = advance(subkey, state.logs, moon, float(count))
        state = Hour(logs, ancestors, parent=state)
        log_evidence += float(evidence)
        filtered, smoothed = float(mean_rate(state.logs, everyone)), smooth(state)
        errors[hour % 24] = abs(filtered * math.exp(-0.8 * moon) - rate) / rate
        if hour % 24 == 23:
            print(f"day {hour // 24 + 1}: filtered {filtered:.1f}, smoothed {smoothed:.1f}, "
                  f"median error {statistics.median(errors):.0%}, log evidence {log_evidence:.0f}", flush=True)
        if time.time() > end:
            break
        time.sleep(0.1)


if __name__ == "__main__":
    main()
