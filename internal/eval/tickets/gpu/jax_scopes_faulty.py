"""Small modules in JAX, bound to a scope for an evaluation. What a scope made of its submodules is kept
in a dictionary with weak keys, but the submodules hold the scope, so that no key ever goes.

ticket: google/flax#2493
class: app-leak
holder: _caches Scope activations
cause: cache-without-bound reference-cycle
"""

import os
import random
import time
import weakref

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

_caches = weakref.WeakKeyDictionary()


@jax.jit
def dense(w, b, x):
    return jax.nn.gelu(x @ w + b)


class Scope:
    def __init__(self, variables):
        self.variables, self.activations = variables, {}


class Dense:
    def __init__(self, name, scope):
        self.name, self.scope = name, scope

    def __call__(self, x):
        w, b = self.scope.variables[self.name]
        y = self.scope.activations[self.name] = dense(w, b, x)  # grows
        return y


class Sequential:
    def __init__(self, widths):
        self.names = [f"dense_{i}" for i in range(len(widths) - 1)]
        self.widths = widths

    def init(self, key):
        sizes = zip(self.names, self.widths, self.widths[1:])
        return {n: (jax.random.normal(key, (a, b)) * a**-0.5, jnp.zeros(b)) for n, a, b in sizes}

    def submodule(self, name, scope):
        made = _caches.setdefault(scope, {})
        if name not in made:
            made[name] = Dense(name, scope)
        return made[name]

    def apply(self, variables, x, scope=None):
        scope = scope or Scope(variables)
        for name in self.names:
            x = self.submodule(name, scope)(x)
        return x, scope


def pure(variables, x):
    for w, b in variables.values():
        x = dense(w, b, x)
    return x


@jax.jit
def train_step(variables, x):
    def loss(v):
        return jnp.square(pure(v, x) - x).mean()

    value, grads = jax.value_and_grad(loss)(variables)
    return jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, variables, grads), value  # grows


class Trainer:
    def __init__(self, width=384, depth=3, batch=256):
        self.model, self.key = Sequential([width] * (depth + 1)), jax.random.PRNGKey(0)
        self.variables, self.shape = self.model.init(self.key), (batch, width)
        self.best = []

    def batch(self):
        self.key, key = jax.random.split(self.key)
        return jax.random.normal(key, self.shape)

    def evaluate(self, batches):
        losses, dead = [], []
        for x in (self.batch() for _ in range(batches)):
            y, scope = self.model.apply(self.variables, x)
            losses.append(float(jnp.square(y - x).mean()))
            dead.append(float(jnp.mean(scope.activations["dense_0"] < 0)))
        return sum(losses) / batches, sum(dead) / batches

    def fit(self, seconds):
        end, step = time.time() + seconds, 0
        while time.time() < end:
            self.variables, loss = train_step(self.variables, self.batch())
            step += 1
            if step % 10 == 0:
                value, dead = self.evaluate(random.choice([1, 2, 6]))
                self.best = sorted([*self.best, (value, step, self.variables)], key=lambda b: b[:2])[:5]
            if step % 100 == 0:
                print(f"step {step}: {float(loss):.4f}, evaluated {value:.4f}, {dead:.0%} below zero", flush=True)
            time.sleep(0.02)


def main():
    Trainer().fit(float(os.environ.get("SECONDS", "40")))


if __name__ == "__main__":
    main()
