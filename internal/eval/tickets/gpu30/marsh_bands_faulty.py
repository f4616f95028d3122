"""The marshes along a coast are mapped from satellite scenes. The bands of a scene come tile by tile, and CuPy works
out from them how green and how wet the ground is. The tiles of several scenes come mixed, so each scene has its own
stream and need not wait for the others.

ticket: practice
class: pool-growth
holder: streams Mapper
cause: pool-for-each-stream pool-never-trims
"""

import os
import random
import time

import cupy as cp
import numpy as np

SIDE, TILES, AT_ONCE = 320, 6, 3


class Mapper:
    def __init__(self):
        self.streams = {}
        self.shares = {}

    def stream(self, scene):
        if scene not in self.streams:
            self.streams[scene] = cp.cuda.Stream(non_blocking=True)  # keeps
        return self.streams[scene]

    def add(self, scene, bands):
        """Adds the share of marsh in one tile to its scene."""
        with self.stream(scene):
            green, red, near = cp.asarray(bands)  # grows
            growth = (near - red) / (near + red)  # grows
            water = (green - near) / (green + near)  # grows
            marsh = (growth > 0.05) & (water > -0.25)  # grows
            share = float(marsh.mean())
        self.shares.setdefault(scene, []).append(share)

    def finish(self, scene):
        """The mean share of marsh in a scene whose tiles have all come."""
        return sum(self.shares[scene]) / len(self.shares.pop(scene))


class Feed:
    """Tiles of a few scenes at once, in a mixed order."""

    def __init__(self):
        self.noise = np.random.default_rng(11)
        self.next = AT_ONCE
        self.open = {scene: TILES for scene in range(AT_ONCE)}

    def tile(self):
        """The scene of the next tile, its bands, and whether it is the last one of the scene."""
        scene = random.choice(list(self.open))
        self.open[scene] -= 1
        last = self.open[scene] == 0
        if last:
            del self.open[scene]
            self.open[self.next] = TILES
            self.next += 1
        means = self.noise.uniform(0.2, 0.5, size=(3, 1, 1))
        bands = means + 0.1 * self.noise.random((3, SIDE, SIDE))
        return scene, bands.astype(np.float32), last


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    mapper, feed, scenes = Mapper(), Feed(), 0
    while time.time() < end:
        scene, bands, last = feed.tile()
        mapper.add(scene, bands)
        if last:
            scenes += 1
            share = mapper.finish(scene)
            if scenes % 5 == 0:
                print(f"scene {scene}: {share:.2f} of it is marsh, {scenes} scenes done", flush=True)
        time.sleep(random.uniform(0.02, 0.09))


if __name__ == "__main__":
    main()
