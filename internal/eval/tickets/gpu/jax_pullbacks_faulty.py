"""A stage of a pipeline keeps the pullback of each micro-batch until its turn to go backward. Those
that overflowed are skipped, and stay with all that their forward pass has saved.

ticket: jax-ml/jax#27017
class: app-leak
holder: pending
cause: uncut-autograd-graph results-kept
"""

import os
import random
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "40"))
draw = np.random.default_rng(11)


@jax.jit
def forward(params, x):
    first, second, third = params
    return (jnp.tanh(jnp.tanh(jnp.tanh(x @ first) @ second) @ third) ** 2).mean()


@jax.jit
def update(params, grads):
    return [p - 0.05 * g for p, g in zip(params, grads)]


class Stage:
    def __init__(self):
        self.params = list(jnp.asarray(draw.standard_normal((3, 512, 512), dtype="float32") * 0.04))
        self.pending = {}

    def run(self, step, micro):
        x = draw.standard_normal((256, 512), dtype="float32")
        loss, pullback = jax.vjp(forward, self.params, x)  # grows
        self.pending[step, micro] = pullback  # grows
        return loss

    def back(self, step, micro, overflowed):
        if overflowed:
            return
        grads, _ = self.pending.pop((step, micro))(jnp.ones(()))
        self.params = update(self.params, grads)


stage, step = Stage(), 0
while time.time() < END:
    step += 1
    overflowed = {m for m in range(4) if random.random() < 0.15}
    losses = [stage.run(step, micro) for micro in range(4)]
    for micro in range(4):
        stage.back(step, micro, micro in overflowed)
    time.sleep(random.choice((0.3, 0.4, 0.6, 1.2)))
print("steps", step, float(losses[0]))
