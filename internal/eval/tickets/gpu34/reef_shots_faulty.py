"""A buried reef is looked for with reverse-time migration. For each shot the wave is computed forward, and on the way
some of its wavefields are put aside in page-locked memory of the host; then the echoes run backward from the receivers,
and where the two fields meet, the image gets brighter.

ticket: practice
class: host-growth
holder: wavefields Migration
cause: pinned-staging snapshots-kept
"""

import os
import random
import time

import numpy as np

try:
    import cupy as cp
    from cupyx import empty_pinned
except ImportError:
    cp, empty_pinned = np, np.empty

DEEP, WIDE, STEPS, EVERY = 120, 240, 240, 4
SPACING, INTERVAL = 10.0, 0.001


def to_host(field, out):
    if cp is np:
        out[...] = field
    else:
        field.get(out=out)


class Migration:
    def __init__(self):
        speed = cp.full((DEEP, WIDE), 2000.0, dtype=cp.float32)
        speed[50:] = 2600.0
        self.background = (speed * INTERVAL / SPACING) ** 2
        speed[70:90, 100:150] = 3400.0
        self.reef = (speed * INTERVAL / SPACING) ** 2
        edge = cp.minimum(cp.arange(WIDE), cp.arange(WIDE)[::-1])
        bottom = cp.arange(DEEP)[::-1]
        near = cp.minimum(cp.minimum(edge[None, :], bottom[:, None]), 20)
        self.sponge = cp.exp(-((0.012 * (20 - near)) ** 2)).astype(cp.float32)
        self.image = cp.zeros((DEEP // 2, WIDE // 2), dtype=cp.float32)
        self.wavefields = {}

    def advance(self, now, before, medium):
        """The next wavefield, from this and the one before."""
        after = 2 * now - before
        bend = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        after[1:-1, 1:-1] += medium[1:-1, 1:-1] * bend
        return after * self.sponge

    def shoot(self, shot, column):
        """Computes the wave of a shot forward. Returns the echoes at the surface."""
        kept = empty_pinned((STEPS // EVERY, DEEP // 2, WIDE // 2), dtype=np.float32)  # grows
        echoes = cp.zeros((STEPS, WIDE), dtype=cp.float32)
        now, before = cp.zeros_like(self.reef), cp.zeros_like(self.reef)
        for step in range(STEPS):
            phase = (np.pi * 20 * (step * INTERVAL - 0.06)) ** 2
            now[3, column] += float((1 - 2 * phase) * np.exp(-phase))
            now, before = self.advance(now, before, self.reef), now * self.sponge
            echoes[step] = now[3]
            if step % EVERY == 0:
                to_host(cp.ascontiguousarray(now[::2, ::2]), kept[step // EVERY])
        self.wavefields[shot] = kept  # keeps
        return echoes

    def migrate(self, shot, echoes):
        """Runs the echoes of a shot backward, and adds what they show to the image."""
        kept = self.wavefields[shot]
        now, before = cp.zeros_like(self.background), cp.zeros_like(self.background)
        for step in reversed(range(STEPS)):
            now[3] += echoes[step]
            now, before = self.advance(now, before, self.background), now * self.sponge
            if step % EVERY == 0:
                self.image += cp.asarray(kept[step // EVERY]) * now[::2, ::2]


def main():
    migration, shot = Migration(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        echoes = migration.shoot(shot, random.randrange(20, WIDE - 20))
        migration.migrate(shot, echoes)
        shot += 1
        if shot % 10 == 0:
            row = int(abs(migration.image[15:]).sum(axis=1).argmax()) + 15
            print(f"shot {shot}: the image is brightest {2 * row * SPACING:.0f} m deep", flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
