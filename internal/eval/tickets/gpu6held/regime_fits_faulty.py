"""A model of a market is fitted anew for each regime that a detector announces, with variational inference. Each fit
compiles a step of its own, and all fits are kept for a comparison; the compiled steps grow on the host.

ticket: practice
class: host-growth
holder: fits
cause: compiled-functions-kept per-shape-compile-cache compile-cache cache-without-bound sessions-kept
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

FACTORS, DAYS = 8, 120


def market(x, y=None):
    weights = numpyro.sample("weights", dist.Normal(jnp.zeros(FACTORS), 1.0).to_event(1))
    drift = numpyro.sample("drift", dist.Normal(0.0, 0.5))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("days", len(x)):
        numpyro.sample("returns", dist.StudentT(4.0, drift + x @ weights, noise + 0.01), obs=y)


class RegimeFit:
    """The inference of one regime."""

    def __init__(self):
        self.svi = SVI(market, AutoNormal(market), numpyro.optim.Adam(0.02), Trace_ELBO())
        self.update = jax.jit(self.svi.update)

    def run(self, key, x, y, steps):
        state = self.svi.init(key, x, y)
        for _ in range(steps):
            state, loss = self.update(state, x, y)  # grows
            time.sleep(0.01)
        return {k: np.asarray(v) for k, v in self.svi.get_params(state).items()}, float(loss)


class Desk:
    def __init__(self):
        self.regimes, self.best = 0, (float("inf"), 0)
        self.fits = []

    def regime(self, x, y):
        fit = RegimeFit()
        params, loss = fit.run(jax.random.PRNGKey(self.regimes), x, y, random.randint(30, 60))
        self.fits.append((fit, params, loss))  # keeps
        self.regimes += 1
        self.best = min(self.best, (loss, self.regimes))
        return loss


def regimes(end):
    rng = np.random.default_rng(2)
    while time.time() < end:
        weights = rng.normal(size=FACTORS)
        x = rng.normal(size=(DAYS, FACTORS)).astype(np.float32)
        yield jnp.asarray(x), jnp.asarray((x @ weights + 0.3 * rng.standard_t(4, DAYS)).astype(np.float32))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    desk = Desk()
    for x, y in regimes(end):
        loss = desk.regime(x, y)
        if desk.regimes % 5 == 0:
            print("regime", desk.regimes, "loss", round(loss, 2), "best", desk.best, flush=True)


if __name__ == "__main__":
    main()
