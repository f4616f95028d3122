"""A shadow theatre on a linen screen.

Flat leather puppets stand between a lamp and the screen. The renderer turns a puppet by its angle, throws it onto
the screen as far as the lamp's distance asks, and softens its edge. A pose that is held for several frames is
thrown once and used again; the frame itself is the product of all the shadows on the screen, with a little
afterglow.

ticket: practice
class: none
"""
import os
import random
import time
from collections import OrderedDict
from dataclasses import dataclass

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
FRAMES_PER_SECOND = 12
HEIGHT, WIDTH = 256, 512
PUPPETS = 4
LIMBS = 12
ROOM = 24


@dataclass(frozen=True)
class Pose:
    puppet: int
    angle: float
    reach: float

    def key(self):
        return (self.puppet, round(self.angle, 4), round(self.reach, 4))


@jax.jit
def throw_shadow(limbs, angle, reach, place):
    """Light that is left on the screen behind a puppet of round limbs."""
    rows = jnp.linspace(-1.0, 1.0, HEIGHT)[:, None]
    columns = jnp.linspace(-2.0, 2.0, WIDTH)[None, :] - place
    turn_x = columns * jnp.cos(angle) + rows * jnp.sin(angle)
    turn_y = rows * jnp.cos(angle) - columns * jnp.sin(angle)

    def add_limb(dark, limb):
        centre_x, centre_y, radius = limb
        distance = jnp.hypot(turn_x / reach - centre_x, turn_y / reach - centre_y)
        return jnp.maximum(dark, jax.nn.sigmoid((radius - distance) * 40.0 / reach)), None

    dark, _ = jax.lax.scan(add_limb, jnp.zeros((HEIGHT, WIDTH)), limbs)
    return 1.0 - 0.9 * dark


@jax.jit
def compose(glow, shadows):
    light = jnp.prod(shadows, axis=0)
    return 0.3 * glow + 0.7 * light


class ShadowRenderer:
    """Throws the puppets' shadows and has those of held poses at hand."""

    def __init__(self, seed):
        key_x, key_r = jax.random.split(jax.random.PRNGKey(seed))
        centres = jax.random.uniform(key_x, (PUPPETS, LIMBS, 2), minval=-0.5, maxval=0.5)
        radii = jax.random.uniform(key_r, (PUPPETS, LIMBS, 1), minval=0.05, maxval=0.2)
        self.limbs = jnp.concatenate([centres, radii], axis=-1)
        self.places = [-1.2, -0.4, 0.4, 1.2]
        self._shadows = OrderedDict()
        self.asked = 0
        self.thrown = 0

    def shadow(self, pose):
        self.asked += 1
        key = pose.key()
        if key in self._shadows:
            self._shadows.move_to_end(key)
            return self._shadows[key]
        shadow = throw_shadow(self.limbs[pose.puppet], pose.angle, pose.reach, self.places[pose.puppet])
        self._shadows[key] = shadow
        while len(self._shadows) > ROOM:
            self._shadows.popitem(last=False)
        self.thrown += 1
        return shadow


class Troupe:
    """The puppeteers: in every frame one puppet moves while the others hold their poses."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.poses = [Pose(puppet, 0.0, 1.0) for puppet in range(PUPPETS)]

    def move(self, frame):
        puppet = frame % PUPPETS
        old = self.poses[puppet]
        angle = max(-1.2, min(1.2, old.angle + self.random.gauss(0.0, 0.15)))
        reach = max(0.7, min(1.6, old.reach + self.random.gauss(0.0, 0.05)))
        self.poses[puppet] = Pose(puppet, angle, reach)
        return self.poses


def play_frame(renderer, troupe, glow, frame):
    shadows = jnp.stack([renderer.shadow(pose) for pose in troupe.move(frame)])
    return compose(glow, shadows)


def main():
    renderer = ShadowRenderer(11)
    troupe = Troupe(43)
    glow = jnp.ones((HEIGHT, WIDTH))
    start = time.monotonic()
    frames = 0
    while time.monotonic() - start < SECONDS:
        glow = play_frame(renderer, troupe, glow, frames)
        glow.block_until_ready()
        frames += 1
        if frames % (3 * FRAMES_PER_SECOND) == 0:
            held = 1.0 - renderer.thrown / renderer.asked
            print(f"frame {frames}: light {float(glow.mean()):.3f}, {held:.0%} of the poses held", flush=True)
        time.sleep(max(0.0, start + frames / FRAMES_PER_SECOND - time.monotonic()))
    print(f"curtain after {frames} frames, {renderer.thrown} shadows thrown", flush=True)


if __name__ == "__main__":
    main()
