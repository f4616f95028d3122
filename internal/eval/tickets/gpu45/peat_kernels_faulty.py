"""The carbon in 1200 samples of peat is modelled with a Gaussian process. Random search looks for the length scale and
the noise with the best evidence: for each length scale that is drawn, several levels of noise are tried on the same
kernel matrix.

ticket: practice
class: app-leak
holder: kernel lru_cache
cause: cache-without-bound results-kept
"""

import os
import time
from functools import lru_cache

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SAMPLES = 1200
NOISES = (0.03, 0.1, 0.3, 1.0)

end = time.time() + float(os.environ.get("SECONDS", "45"))
rng = np.random.default_rng(8)
print("devices:", jax.devices(), flush=True)

# %% the samples: where they were taken, how deep, and their carbon

places = rng.uniform(0, 10, (SAMPLES, 3)).astype(np.float32)
carbon = np.sin(places[:, 0]) + 0.3 * np.cos(2 * places[:, 1]) - 0.1 * places[:, 2]
carbon = carbon + 0.1 * rng.standard_normal(SAMPLES)
carbon = jnp.asarray((carbon - carbon.mean()) / carbon.std(), dtype=jnp.float32)

norms = (places ** 2).sum(axis=1)
distances = jnp.asarray(np.maximum(norms[:, None] + norms[None, :] - 2 * places @ places.T, 0), dtype=jnp.float32)


@jax.jit
def rbf(squares, scale):
    return jnp.exp(-0.5 * squares / scale ** 2)


@jax.jit
def evidence(matrix, targets, noise):
    """Log marginal likelihood for each sample."""
    size = targets.shape[0]
    lower = jnp.linalg.cholesky(matrix + (noise ** 2 + 1e-4) * jnp.eye(size, dtype=matrix.dtype))
    white = jax.scipy.linalg.solve_triangular(lower, targets, lower=True)
    return (-0.5 * white @ white - jnp.log(jnp.diagonal(lower)).sum()) / size


@lru_cache(maxsize=None)  # keeps
def kernel(scale):
    return rbf(distances, scale)  # grows


# %% search

best = (-np.inf, None, None)
tried = 0

while time.time() < end:
    scale = float(np.exp(rng.normal(0.5, 0.6)))
    for noise in NOISES:
        value = float(evidence(kernel(scale), carbon, noise))
        if np.isfinite(value) and value > best[0]:
            best = (value, scale, noise)
            print(f"better: evidence {value:.4f} with scale {scale:.3f} and noise {noise}", flush=True)
    tried += 1
    if tried % 20 == 0:
        print(f"{tried} scales tried, best evidence {best[0]:.4f}", flush=True)
    time.sleep(0.15)
