"""Prices of many shops are fitted again and again, each time with what was sold since. The draws of the last fit
of each shop stay on the device, as that is what is asked for.

ticket: pyro-ppl/numpyro#539
class: none
"""

import os
import random
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

END = time.time() + float(os.environ.get("SECONDS", "45"))
PRODUCTS = 20000
draw = np.random.default_rng(3)


def prices(sales):
    centre = numpyro.sample("centre", dist.Normal(0.0, 2.0))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    with numpyro.plate("products", PRODUCTS):
        level = numpyro.sample("level", dist.Normal(centre, spread))
        numpyro.sample("sales", dist.Normal(level, 1.0), obs=sales)


class Forecaster:
    def __init__(self, shops):
        self.shops, self.fits, self.latest = shops, {}, {}
        kernel = NUTS(prices, max_tree_depth=3)
        self.mcmc = MCMC(kernel, num_warmup=20, num_samples=150, progress_bar=False, jit_model_args=True)

    def fit(self, number, shop):
        sales = jnp.asarray(draw.normal(shop, 1.0, PRODUCTS).astype("float32"))
        self.mcmc.run(jax.random.PRNGKey(number), sales)
        posterior = self.mcmc.get_samples()
        self.fits[number] = posterior
        self.fits.pop(self.latest.get(shop), None)
        self.latest[shop] = number

    def price(self, shop):
        posterior = self.fits[self.latest[shop]]
        return float(posterior["level"].mean()), float(jnp.quantile(posterior["level"][:, :50], 0.9))


def main():
    forecaster, number = Forecaster(shops=6), 0
    while time.time() < END:
        number += 1
        shop = number % forecaster.shops if number <= 6 else random.randrange(forecaster.shops)
        forecaster.fit(number, shop)
        for _ in range(random.randint(1, 4)):
            asked = random.choice(list(forecaster.latest))
            print("fit", number, "shop", asked, "price %.2f %.2f" % forecaster.price(asked), flush=True)
        time.sleep(random.choice([0.1, 0.2, 0.5]))


if __name__ == "__main__":
    main()
