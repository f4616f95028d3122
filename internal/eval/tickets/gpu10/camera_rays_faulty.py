"""A small neural field learns a scene from twelve cameras, with jax, and a viewer that flies around the scene shows
what it has learnt. The rays of a camera are worked out once and kept under its pose, as the twelve come up again and
again; those of the viewer go the same way.

ticket: practice
class: app-leak
holder: rays
cause: cache-without-bound
"""

import math
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, SAMPLES, BATCH, STRIDE = 208, 16, 1024, 4
DEPTHS = jnp.linspace(1.0, 4.0, SAMPLES)


def pose(angle, height):
    """Where a camera stands that looks at the middle, and which way is right, up and forward."""
    place = np.array([2.5 * math.cos(angle), 2.5 * math.sin(angle), height])
    forward = -place / np.linalg.norm(place)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return np.stack([place, right, np.cross(right, forward), forward]).astype(np.float32)


@jax.jit
def cast(camera):
    place, right, up, forward = camera
    line = jnp.linspace(-0.6, 0.6, SIDE)
    way = forward + line[None, :, None] * right - line[:, None, None] * up
    way /= jnp.linalg.norm(way, axis=-1, keepdims=True)
    return jnp.broadcast_to(place, way.shape).reshape(-1, 3), way.reshape(-1, 3)


def scene(origins, ways):
    """What there is to be seen: a ball with stripes."""
    middle = -(origins * ways).sum(-1)
    near = origins + middle[:, None] * ways
    hit = jax.nn.sigmoid(20 * (0.8 - jnp.linalg.norm(near, axis=-1, keepdims=True)))
    return hit * (0.5 + 0.5 * jnp.sin(6 * near + jnp.array([0.0, 1.0, 2.0])))


def render(weights, origins, ways):
    points = origins[:, None] + DEPTHS[:, None] * ways[:, None]
    x = jnp.concatenate([points, jnp.sin(3 * points), jnp.cos(3 * points)], -1)
    x = jax.nn.relu(x @ weights[0]) @ weights[1]
    solid = 1 - jnp.exp(-jax.nn.softplus(x[..., 3]) * 3.0 / SAMPLES)
    through = jnp.cumprod(jnp.concatenate([jnp.ones_like(solid[:, :1]), 1 - solid[:, :-1]], 1), 1)
    return ((solid * through)[..., None] * jax.nn.sigmoid(x[..., :3])).sum(1)


@jax.jit
def learn(weights, key, origins, ways):
    which = jax.random.randint(key, (BATCH,), 0, SIDE * SIDE)
    origins, ways = origins[which], ways[which]
    error = lambda weights: jnp.square(render(weights, origins, ways) - scene(origins, ways)).mean()
    loss, slope = jax.value_and_grad(error)(weights)
    return jax.tree_util.tree_map(lambda weight, grad: weight - 0.3 * grad, weights, slope), loss


@jax.jit
def preview(weights, origins, ways):
    return render(weights, origins[::STRIDE ** 2], ways[::STRIDE ** 2])


class Field:
    def __init__(self):
        first, second = jax.random.split(jax.random.PRNGKey(0))
        self.weights = [jax.random.normal(first, (9, 48)) / 3, jax.random.normal(second, (48, 4)) / 7]
        self.rays = {}

    def rays_of(self, camera):
        key = camera.tobytes()
        if key not in self.rays:
            origins, ways = cast(camera)  # grows
            self.rays[key] = origins, ways  # keeps
        return self.rays[key]

    def show(self, camera):
        return preview(self.weights, *self.rays_of(camera))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    cameras = [pose(math.tau * number / 12, 0.4 + 0.6 * (number % 2)) for number in range(12)]
    field, key, angle, frame = Field(), jax.random.PRNGKey(1), 0.0, 0
    while time.time() < end:
        for _ in range(random.randint(2, 5)):
            key, use = jax.random.split(key)
            field.weights, loss = learn(field.weights, use, *field.rays_of(random.choice(cameras)))
        angle, frame = angle + random.uniform(0.01, 0.06), frame + 1
        picture = field.show(pose(angle, 0.7 + 0.3 * math.sin(angle / 3)))
        if frame % 25 == 0:
            print("frame", frame, "loss", round(float(loss), 4), "light", round(float(picture.mean()), 3), flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
