"""A puppet theatre's films are played clip after clip. Each clip brings a backdrop, the mean of its first frames, and
the puppets are what differs from it; they are cut out and counted. The viewer may change the gain of the picture,
and whatever is being shown is told of it.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp

HEIGHT, WIDTH, FRAMES = 540, 960, 12


class Player:
    """Knows the gain, and whom to tell when it changes."""

    def __init__(self):
        self.gain = 1.0
        self.listeners = []

    def connect(self, listener):
        self.listeners.append(listener)

    def disconnect(self, listener):
        self.listeners.remove(listener)

    def turn(self, gain):
        self.gain = gain
        for listener in self.listeners:
            listener(gain)


class Scene:
    """One clip: its backdrop, and the puppets in front of it."""

    def __init__(self, player, number, first):
        self.player, self.number = player, number
        self.backdrop = cp.stack(first).mean(axis=0)
        self.threshold = 0.2 * player.gain
        self.seen = 0
        player.connect(self.adjust)

    def adjust(self, gain):
        self.threshold = 0.2 * gain

    def show(self, frame):
        puppets = cp.abs(frame - self.backdrop).max(axis=-1) > self.threshold
        self.seen += 1
        return float(puppets.mean())

    def close(self):
        self.player.disconnect(self.adjust)
        share = self.seen / FRAMES
        return f"clip {self.number}: {share:.0%} shown"


class Camera:
    """Films one clip: a stage, lit at random, with bright blocks that move."""

    def __init__(self):
        self.stage = cp.random.random((HEIGHT, WIDTH, 3), dtype=cp.float32) * 0.4
        self.places = [(random.randrange(HEIGHT - 80), random.randrange(WIDTH - 60)) for _ in range(4)]

    def frame(self):
        picture = self.stage + 0.02 * cp.random.standard_normal(self.stage.shape, dtype=cp.float32)
        moved = []
        for top, left in self.places:
            picture[top : top + 80, left : left + 60] = 0.9
            moved.append((top, (left + random.randint(0, 12)) % (WIDTH - 60)))
        self.places = moved
        return picture


def main():
    player, clips = Player(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        camera = Camera()
        clips += 1
        scene = Scene(player, clips, [camera.frame() for _ in range(3)])
        shares = []
        for _ in range(FRAMES):
            shares.append(scene.show(camera.frame()))
            time.sleep(0.04)
        if random.random() < 0.2:
            player.turn(random.uniform(0.6, 1.4))
        verdict = scene.close()
        if clips % 5 == 0:
            print(verdict, f"puppets cover {sum(shares) / len(shares):.3f}", flush=True)


if __name__ == "__main__":
    main()
