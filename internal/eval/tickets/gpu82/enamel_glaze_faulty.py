"""How does a network learn to paint? For each enamel plate a fresh network learns the colours by place, and a gallery
takes a picture after each few steps. When the plate is done, the gallery says how much the picture changed from its
first to its last frame, and the next plate begins with a new gallery.

ticket: practice
class: host-growth
holder: frames Gallery
cause: snapshots-kept buffer-without-bound
"""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, WIDTH, FRAMES, STEPS = 224, 48, 10, 5
RATE = 0.05


class Gallery:
    """The pictures of one plate."""

    frames = []

    def __init__(self, plate):
        self.plate = plate

    def take(self, picture):
        self.frames.append(jax.device_get(picture))  # grows keeps

    def change(self):
        return float(np.abs(self.frames[-1] - self.frames[0]).mean())


def places():
    line = jnp.linspace(-1, 1, SIDE)
    rows, columns = jnp.meshgrid(line, line, indexing="ij")
    return jnp.stack([rows, columns], axis=-1).reshape(-1, 2)


def fresh(key):
    first, second, third = jax.random.split(key, 3)
    return {
        "place": 4 * jax.random.normal(first, (2, WIDTH)),
        "hidden": jax.random.normal(second, (WIDTH, WIDTH)) / WIDTH**0.5,
        "colour": jax.random.normal(third, (WIDTH, 3)) / WIDTH**0.5,
        "bias": jnp.zeros(3),
    }


def paint(weights, spots):
    values = jnp.sin(spots @ weights["place"])
    values = jnp.tanh(values @ weights["hidden"])
    return jax.nn.sigmoid(values @ weights["colour"] + weights["bias"])


def glaze(key, spots):
    """The colours of a plate: rings around a centre, in three phases."""
    centre, phases = jax.random.uniform(key, (2,), minval=-0.5, maxval=0.5), jnp.array([0.0, 1.0, 2.0])
    distance = jnp.linalg.norm(spots - centre, axis=1, keepdims=True)
    return 0.5 + 0.5 * jnp.sin(12 * distance + phases)


def loss(weights, spots, colours):
    picture = paint(weights, spots)
    return jnp.mean((picture - colours) ** 2), picture


@jax.jit
def learn(weights, spots, colours):
    (error, picture), slopes = jax.value_and_grad(loss, has_aux=True)(weights, spots, colours)
    weights = jax.tree_util.tree_map(lambda weight, slope: weight - RATE * slope, weights, slopes)
    return weights, error, picture


def main():
    spots, key, plate = places(), jax.random.PRNGKey(7), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, for_weights, for_colours = jax.random.split(key, 3)
        weights, colours, gallery = fresh(for_weights), glaze(for_colours, spots), Gallery(plate)
        for _ in range(FRAMES):
            for _ in range(STEPS):
                weights, error, picture = learn(weights, spots, colours)
            gallery.take(picture.reshape(SIDE, SIDE, 3))
            time.sleep(0.06)
        plate += 1
        if plate % 3 == 0:
            print(f"plate {gallery.plate}: error {float(error):.4f}, change {gallery.change():.4f}", flush=True)


if __name__ == "__main__":
    main()
