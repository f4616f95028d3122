"""Corrosion at the feet of lamp posts, from ultrasonic thickness scans.

A crew scans the foot of one post after the other and comes back to each of them in turn. A scan is smoothed, its wall
loss is mapped against the nominal thickness, and the posts are ranked by the depth of their pits for the replacement
list of the works department.

ticket: practice
class: none
"""
import os
import time

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 6.0
POSTS = 18
ROWS, COLS = 512, 512
NOMINAL = 4.0


class Probe:
    """Thickness of the wall in millimetres, with pits that deepen from visit to visit."""

    def __init__(self, seed):
        self.random = cp.random.RandomState(seed)
        self.rows = cp.arange(ROWS, dtype=cp.float32)[:, None]
        self.cols = cp.arange(COLS, dtype=cp.float32)[None, :]
        self.pits = self.random.uniform(60, 450, size=(POSTS, 3, 2)).astype(cp.float32)

    def scan(self, post, visit):
        wall = cp.full((ROWS, COLS), NOMINAL, dtype=cp.float32)
        for pit in range(3):
            centre = self.pits[post, pit]
            distance = (self.rows - centre[0]) ** 2 + (self.cols - centre[1]) ** 2
            depth = 0.4 + 0.02 * visit * (1 + (post + pit) % 4)
            wall -= cp.float32(min(depth, 2.5)) * cp.exp(-distance / cp.float32(1800.0))
        noise = self.random.standard_normal((ROWS, COLS)).astype(cp.float32)
        return wall + cp.float32(0.03) * noise


def smooth(wall):
    across = (cp.roll(wall, 1, axis=0) + wall + cp.roll(wall, -1, axis=0)) / cp.float32(3.0)
    return (cp.roll(across, 1, axis=1) + across + cp.roll(across, -1, axis=1)) / cp.float32(3.0)


class Inspection:
    def __init__(self):
        self._losses = {}
        self.deepest = [0.0] * POSTS
        self.scans = 0

    def take(self, post, visit, wall):
        loss = cp.maximum(cp.float32(NOMINAL) - smooth(wall), cp.float32(0.0))
        self._losses[post] = loss
        self.deepest[post] = float(loss.max())
        self.scans += 1

    def replacement_list(self):
        order = sorted(range(POSTS), key=lambda post: self.deepest[post], reverse=True)
        return order[:3]

    def mean_loss(self):
        newest = list(self._losses.values())[-6:]
        return float(sum(float(loss.mean()) for loss in newest)) / max(1, len(newest))


class Route:
    """The order in which the crew goes round the posts."""

    def __init__(self):
        self.post = -1
        self.visit = 0

    def next_stop(self):
        self.post += 1
        if self.post == POSTS:
            self.post = 0
            self.visit += 1
        return self.post, self.visit


def main():
    probe = Probe(seed=14)
    inspection = Inspection()
    route = Route()
    start = time.monotonic()
    rounds = 0
    next_print = 3.0
    while True:
        now = time.monotonic() - start
        if now >= SECONDS:
            break
        post, visit = route.next_stop()
        inspection.take(post, visit, probe.scan(post, visit))
        rounds += 1
        if now >= next_print:
            print(f"{now:5.1f} s scans {inspection.scans} mean loss {inspection.mean_loss():.4f} mm "
                  f"first to replace {inspection.replacement_list()}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"inspection closed: {inspection.scans} scans, replace {inspection.replacement_list()}", flush=True)


if __name__ == "__main__":
    main()
