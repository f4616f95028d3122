"""A network is trained in a jitted step that calls back to the host with the activations of its layers. The
telemetry keeps them for a summary at the end.

ticket: jax-ml/jax#9970
class: host-growth
holder: records telemetry
cause: results-kept
"""

import collections
import os
import random
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax
import jax.numpy as jnp
import numpy as np

END = time.time() + float(os.environ.get("SECONDS", "45"))
draw = np.random.default_rng(8)


class Telemetry:
    def __init__(self):
        self.records, self.calls = collections.defaultdict(list), 0

    def receive(self, layer, activations):
        self.calls += 1
        self.records[int(layer)].append(np.array(activations))  # grows

    def summary(self):
        rows = []
        for layer, kept in sorted(self.records.items()):
            rows.append("layer %d: dead %.3f" % (layer, float((kept[-1] <= 0).mean())))
        return ", ".join(rows)


class Trainer:
    def __init__(self, telemetry, width=384, layers=4):
        keys = jax.random.split(jax.random.PRNGKey(1), layers)
        self.params = [jax.random.normal(k, (width, width)) * 1.4 / width ** 0.5 for k in keys]
        self.moments = [jnp.zeros_like(p) for p in self.params]
        self.width, self.telemetry = width, telemetry
        self.update = jax.jit(self._update)

    def loss(self, params, x):
        hidden = x
        for number, weights in enumerate(params):
            hidden = jax.nn.relu(hidden @ weights)
            jax.debug.callback(self.telemetry.receive, number, hidden)
        return ((hidden - x) ** 2).mean()

    def _update(self, params, moments, x):
        loss, grads = jax.value_and_grad(self.loss)(params, x)
        moments = [0.9 * m + g for m, g in zip(moments, grads)]
        return [p - 0.01 * m for p, m in zip(params, moments)], moments, loss

    def step(self, rows):
        x = jnp.asarray(draw.standard_normal((rows, self.width), dtype="float32"))
        self.params, self.moments, loss = self.update(self.params, self.moments, x)
        return loss


def main():
    telemetry = Telemetry()
    trainer, step = Trainer(telemetry), 0
    while time.time() < END:
        step += 1
        loss = trainer.step(random.choice([128, 256, 384]))
        if step % 20 == 0:
            jax.effects_barrier()
            print("step", step, "loss %.4f" % float(loss), telemetry.summary(), flush=True)
        time.sleep(random.choice([0.1, 0.2, 0.3]))
    jax.effects_barrier()
    print("calls", telemetry.calls)


if __name__ == "__main__":
    main()
