"""Brightness of variable stars, by subtracting a reference from each exposure.

A small observatory goes round sixteen star fields.  For every visit the camera
gives a new exposure; it is scaled to the field's reference picture, which is
taken away, and what is left over is smoothed a little.  The variable stars
stand out of that remainder and are measured in small apertures.  For each
field the catalogue has the noise of the remainder as well, written by itself
when a visit has been dealt with, so that the observer need not think of it.

ticket: practice
class: none
"""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import time
import weakref

import jax
import jax.numpy as jnp
import numpy as np

SIDE = 1024
FIELDS = 16
VARIABLES = 40
PACE = 0.2
SPAN = jnp.arange(-2, 3)


@jax.jit
def expose(key, reference, brightness):
    """A new exposure: other sky, other transparency, some noise."""
    sky_key, noise_key = jax.random.split(key)
    sky = 5.0 + jax.random.uniform(sky_key)
    noise = jax.random.normal(noise_key, reference.shape)
    return sky + brightness * reference + 0.3 * noise


@jax.jit
def subtract(exposure, reference):
    """What is left of an exposure when the scaled reference is taken away."""
    centred = exposure - exposure.mean()
    shape = reference - reference.mean()
    scale = (centred * shape).sum() / (shape * shape).sum()
    rest = centred - scale * shape
    for axis in (0, 1):
        rest = 0.25 * jnp.roll(rest, 1, axis) + 0.5 * rest + 0.25 * jnp.roll(rest, -1, axis)
    return rest, scale


@jax.jit
def measure(rest, rows, columns):
    """Sums in apertures of five by five pixels."""
    down = rows[:, None, None] + SPAN[None, :, None]
    across = columns[:, None, None] + SPAN[None, None, :]
    return rest[down, across].sum(axis=(1, 2))


@jax.jit
def noise_level(rest):
    return 1.4826 * jnp.mean(jnp.abs(rest - rest.mean()))


def write_noise(catalogue, name, rest):
    catalogue[name] = float(noise_level(rest))


class Field:
    """A patch of the sky with its reference picture and its variable stars."""

    def __init__(self, number, rng):
        self.name = f"F{number:02d}"
        picture = np.zeros((SIDE, SIDE), np.float32)
        places = rng.integers(4, SIDE - 4, size=(600, 2))
        picture[places[:, 0], places[:, 1]] = rng.exponential(200.0, size=600)
        self.reference = jnp.asarray(picture)
        self.rows = jnp.asarray(places[:VARIABLES, 0].astype(np.int32))
        self.columns = jnp.asarray(places[:VARIABLES, 1].astype(np.int32))


class Visit:
    """One exposure of a field, worked up."""

    def __init__(self, field, rest, scale):
        self.field = field
        self.rest = rest
        self.scale = scale

    def light(self):
        return np.asarray(measure(self.rest, self.field.rows, self.field.columns))


class Observatory:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.fields = [Field(number, rng) for number in range(FIELDS)]
        self.key = jax.random.PRNGKey(seed)
        self.catalogue = {}

    def visit(self, number):
        field = self.fields[number % FIELDS]
        self.key, key = jax.random.split(self.key)
        brightness = jnp.float32(0.9 + 0.01 * (number % 7))
        rest, scale = subtract(expose(key, field.reference, brightness), field.reference)
        visit = Visit(field, rest, scale)
        weakref.finalize(visit, write_noise, self.catalogue, field.name, rest)
        return visit


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    observatory = Observatory(seed=1572)
    print(f"observing {FIELDS} fields with {jax.devices()[0].platform}", flush=True)

    brightest = 0.0
    number = 0
    next_visit = time.time()
    while time.time() < deadline:
        visit = observatory.visit(number)
        light = visit.light()
        brightest = max(brightest, float(light.max()))
        number += 1
        if number % 25 == 0:
            print(f"visit {number} of {visit.field.name}: scale {float(visit.scale):.3f}, "
                  f"scatter {light.std():.2f}, brightest rise {brightest:.1f}", flush=True)
        next_visit += PACE
        time.sleep(max(0.0, next_visit - time.time()))

    print(f"dome closed after {number} visits", flush=True)


if __name__ == "__main__":
    main()
