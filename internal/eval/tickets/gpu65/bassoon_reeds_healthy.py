"""Every bassoon reed bends the pitch in its own way. A small network is meta-learned (MAML), so that a few notes on a
new reed suffice to fit it: it adapts to sixteen reeds at once and is judged on other notes of theirs. For the printed
line the history notes the error of each meta step.

ticket: practice
class: none
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

REEDS, NOTES, WIDTH, INNER_RATE, META_RATE, INNER_STEPS = 16, 12, 128, 0.05, 0.01, 3


def new_network(key):
    sizes = 1, WIDTH, WIDTH, 1
    keys = jax.random.split(key, 3)
    return [
        {"weight": jax.random.normal(k, (fan_in, out)) * fan_in**-0.5, "bias": jnp.zeros(out)}
        for k, fan_in, out in zip(keys, sizes, sizes[1:])
    ]


def predict(network, notes):
    hidden = notes
    for layer in network[:-1]:
        hidden = jnp.tanh(hidden @ layer["weight"] + layer["bias"])
    return hidden @ network[-1]["weight"] + network[-1]["bias"]


def error(network, notes, bends):
    return jnp.mean((predict(network, notes) - bends) ** 2)


def descend(network, gradient, rate):
    return jax.tree.map(lambda value, slope: value - rate * slope, network, gradient)


def adapt(network, notes, bends):
    for _ in range(INNER_STEPS):
        network = descend(network, jax.grad(error)(network, notes, bends), INNER_RATE)
    return network


def meta_error(network, support, query):
    adapted = jax.vmap(adapt, in_axes=(None, 0, 0))(network, *support)
    errors = jax.vmap(error)(adapted, *query)
    return errors.mean(), {"error": errors.mean(), "worst": errors.max(), "adapted": adapted}


@jax.jit
def meta_step(network, support, query):
    gradient, info = jax.grad(meta_error, has_aux=True)(network, support, query)
    return descend(network, gradient, META_RATE), info


def play(rng):
    """Notes on sixteen new reeds and how far each note is bent, once to adapt to and once to judge by."""
    strength = rng.uniform(0.2, 2.0, (REEDS, 1, 1))
    phase = rng.uniform(0, np.pi, (REEDS, 1, 1))
    sets = []
    for _ in range(2):
        notes = rng.uniform(-3, 3, (REEDS, NOTES, 1))
        bends = strength * np.sin(notes + phase)
        sets.append((notes.astype(np.float32), bends.astype(np.float32)))
    return sets


def main():
    rng = np.random.default_rng(4)
    network, history = new_network(jax.random.key(4)), []
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        support, query = play(rng)
        network, info = meta_step(network, support, query)
        history.append(float(info["error"]))
        if len(history) % 20 == 0:
            mean = np.mean(history[-20:])
            spread = float(info["adapted"][-1]["weight"].std(axis=0).mean())
            worst = float(info["worst"])
            print(f"{len(history)} steps: error {mean:.3f}, worst reed {worst:.3f}, spread {spread:.3f}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
