"""Examine the overhead wire of a railway, section by section, from the readings of a measuring train.

A measuring train notes the height of the contact wire at many points of every span between two masts. For each
section of the line the readings of all its spans are fitted with a few smooth shapes, the sag of a hanging wire
among them, and what is left over tells how rough the wire is to the pantograph. A section that is too rough, or that
hangs too low anywhere, is refused, and the line foreman gets the sentence that tells why. The others go into the
figures of the day.

ticket: practice
class: none
"""
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SPANS = 160
POINTS = 6144
SHAPES = 6
NOMINAL_MM = 5300.0
ROUGHEST_MM = 3.0
LOWEST_MM = 5020.0
SECTIONS_A_SECOND = 9.0


class SectionRefused(Exception):
    """A section of the line that must not be run under at full speed."""

    def __init__(self, section, reason):
        super().__init__(f"section {section}: {reason}")
        self.section = section
        self.reason = reason


def smooth_shapes():
    """Cosines along a span, each of length one, as columns."""
    along = (jnp.arange(POINTS) + 0.5) / POINTS
    order = jnp.arange(SHAPES)
    columns = jnp.cos(jnp.pi * along[:, None] * order[None, :])
    return columns / jnp.linalg.norm(columns, axis=0)


@jax.jit
def read_section(key, wear):
    """Heights in millimetres, as the train would note them on a section that is worn so much."""
    sag_key, tilt_key, noise_key = jax.random.split(key, 3)
    along = jnp.linspace(-1.0, 1.0, POINTS)
    sag = 40.0 + 8.0 * jax.random.normal(sag_key, (SPANS, 1))
    tilt = 12.0 * jax.random.normal(tilt_key, (SPANS, 1))
    heights = NOMINAL_MM - sag * (1.0 - along ** 2) + tilt * along
    return heights + wear * jax.random.normal(noise_key, (SPANS, POINTS))


@jax.jit
def fit_section(shapes, heights):
    """Lowest wire, mean sag, and what the smooth shapes leave over at every point."""
    bent = heights - NOMINAL_MM
    weights = jnp.matmul(bent, shapes, precision="highest")
    left_over = bent - jnp.matmul(weights, shapes.T, precision="highest")
    return jnp.min(heights), jnp.mean(weights[:, 2]), left_over


@jax.jit
def roughness(left_over):
    return jnp.sqrt(jnp.mean(left_over ** 2)), jnp.max(jnp.abs(left_over))


class MeasuringTrain:
    def __init__(self, seed):
        self.key = jax.random.PRNGKey(seed)
        self.dice = random.Random(seed)
        self.shapes = smooth_shapes()
        self.refused = 0
        self.last_refusal = "none refused"
        self.passed = 0
        self.mean_rough = 0.0

    def examine(self, section):
        wear = 4.5 if self.dice.random() < 0.4 else 1.2
        key = jax.random.fold_in(self.key, section)
        lowest, sag, left_over = fit_section(self.shapes, read_section(key, wear))
        rough, worst = (float(value) for value in roughness(left_over))
        if rough > ROUGHEST_MM:
            raise SectionRefused(section, f"rough by {rough:.2f} mm, at worst {worst:.1f} mm")
        if float(lowest) < LOWEST_MM:
            raise SectionRefused(section, f"wire down to {float(lowest):.0f} mm")
        return rough, float(sag)

    def pass_under(self, section):
        try:
            rough, _ = self.examine(section)
        except SectionRefused as refusal:
            self.refused += 1
            self.last_refusal = str(refusal)
            return
        self.passed += 1
        self.mean_rough += (rough - self.mean_rough) / self.passed

    def bulletin(self):
        return (f"{self.passed} passed at {self.mean_rough:.2f} mm, {self.refused} refused; "
                f"last {self.last_refusal}")


def main():
    stop = time.time() + float(os.environ.get("SECONDS", "45"))
    print(f"measuring on {jax.default_backend()}", flush=True)
    train = MeasuringTrain(seed=12)
    section = 0
    due = time.time()
    while time.time() < stop:
        section += 1
        train.pass_under(section)
        if section % 40 == 0:
            print(train.bulletin(), flush=True)
        due = max(due + 1.0 / SECTIONS_A_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))
    print("end of the run:", train.bulletin(), flush=True)


if __name__ == "__main__":
    main()
