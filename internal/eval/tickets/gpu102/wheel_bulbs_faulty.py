"""Light show on the rim and the spokes of a ferris wheel.

The wheel carries rows of bulbs that show patterns which turn with it: stars and spirals. A frame of the show is the
picture that the crowd sees from the promenade, blurred by the haze above the water. The controller asks for the frame
of a pattern at an angle of the wheel, in whole steps, and sends the power that each ring of bulbs draws to the
dimmers.

ticket: practice
class: app-leak
holder: _frames
cause: cache-without-bound
"""
import os
import time
from functools import partial

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
HEIGHT = 384
WIDTH = 384
RINGS = 24
SPOKES = 12
STEPS_PER_TURN = 8
HAZE_TAPS = 9
ROUNDS_PER_SECOND = 8
PATTERNS = ("star", "spiral")
HUES = {"star": (1.0, 0.85, 0.4), "spiral": (0.3, 0.7, 1.0)}


def make_grid():
    """Radius and angle of every picture element, as seen from the hub."""
    y = jnp.linspace(-1.1, 1.1, HEIGHT)[:, None]
    x = jnp.linspace(-1.1, 1.1, WIDTH)[None, :]
    return jnp.sqrt(x * x + y * y), jnp.arctan2(y, x)


@partial(jax.jit, static_argnames="pattern")
def light_of(radius, angle, turn, pattern):
    """Brightness of the bulbs for one pattern, by radius and angle."""
    spoke = jnp.cos(0.5 * SPOKES * (angle - turn)) ** 16
    ring = jnp.cos(jnp.pi * RINGS * radius) ** 4
    if pattern == "star":
        shape = jnp.clip(1.4 - radius * (1.0 + 0.5 * jnp.cos(5.0 * (angle - turn))), 0.0, 1.0)
    else:
        shape = 0.5 + 0.5 * jnp.sin(3.0 * (angle - turn) + 9.0 * radius)
    return jnp.where(radius <= 1.0, (0.3 * spoke + ring) * shape, 0.0)


@jax.jit
def through_haze(light, hue, noise):
    """Colour, blur along both sides, and a little grain."""
    taps = jnp.exp(-0.5 * (jnp.arange(HAZE_TAPS) - HAZE_TAPS // 2) ** 2 / 4.0)
    taps = taps / taps.sum()
    rows = sum(taps[i] * jnp.roll(light, i - HAZE_TAPS // 2, axis=0) for i in range(HAZE_TAPS))
    soft = sum(taps[i] * jnp.roll(rows, i - HAZE_TAPS // 2, axis=1) for i in range(HAZE_TAPS))
    return jnp.clip(soft[..., None] * hue + 0.02 * noise[..., None], 0.0, 1.0).astype(jnp.float32)


@jax.jit
def ring_power(frame, radius, dim):
    """Power of each ring of bulbs, from the brightness of its part of the picture."""
    ring = jnp.clip((radius * RINGS).astype(jnp.int32), 0, RINGS)
    bright = frame.mean(axis=-1).ravel() * dim
    return jax.ops.segment_sum(bright, ring.ravel(), num_segments=RINGS + 1)[:RINGS]


class FrameShop:
    """Frames by pattern and by step of the wheel."""

    def __init__(self, seed):
        self.radius, self.angle = make_grid()
        self.noise = jax.random.normal(jax.random.PRNGKey(seed), (HEIGHT, WIDTH))
        self._frames = {}

    def frame(self, pattern, step):
        key = (pattern, step)
        if key not in self._frames:
            self._frames[key] = self.render(pattern, step)  # keeps
        return self._frames[key]

    def render(self, pattern, step):
        turn = 2.0 * jnp.pi * step / STEPS_PER_TURN
        light = light_of(self.radius, self.angle, turn, pattern)
        return through_haze(light, jnp.array(HUES[pattern]), self.noise)  # grows


class Show:
    """Turns the wheel and changes the pattern after every turn."""

    def __init__(self, seed):
        self.shop = FrameShop(seed)
        self.step = 0
        self.power = jnp.zeros(RINGS)

    def pattern(self):
        return PATTERNS[(self.step // STEPS_PER_TURN) % len(PATTERNS)]

    def advance(self):
        frame = self.shop.frame(self.pattern(), self.step)
        dim = 0.8 + 0.2 * (self.step % 5) / 5.0
        self.power = 0.7 * self.power + 0.3 * ring_power(frame, self.shop.radius, dim)
        self.power.block_until_ready()
        self.step += 1


def main():
    show = Show(seed=7)
    started = time.monotonic()
    next_print = started + 2.0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        show.advance()
        if beat >= next_print:
            brightest = int(show.power.argmax())
            print(f"step {show.step:4d} {show.pattern()}: ring {brightest} draws most,"
                  f" {float(show.power.sum()):.0f} in all", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"lights out after {show.step // STEPS_PER_TURN} turns of the wheel", flush=True)


if __name__ == "__main__":
    main()
