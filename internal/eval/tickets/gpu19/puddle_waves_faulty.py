"""Waves on a puddle, for the background of a game. The steps of a frame are captured as a CUDA graph, and captured anew
for each scene, as damping, depth and the number of steps change. All captures share one pool of memory, so that a scene
can have what the scene before it had. (Without a GPU, the steps are just run.)

ticket: pytorch/pytorch#97419
class: pool-growth
holder: -
cause: pool-for-each-stream pool-never-trims
"""

import os
import random
import time

import torch

SIDE = 1024


def advance(now, before, steps, depth, damping):
    """Some steps of the wave equation; what is now and before is changed in place, and the light on it comes back."""
    one, other = now, before
    for _ in range(steps):
        bent = torch.roll(one, 1, 0) + torch.roll(one, -1, 0) + torch.roll(one, 1, 1) + torch.roll(one, -1, 1)
        bent = bent - 4 * one  # grows
        following = (one + damping * (one - other) + depth * bent).clamp(-4, 4)
        one, other = following, one
    before.copy_(other)
    now.copy_(one)
    return (0.5 + torch.diff(now, dim=0, append=now[-1:])).clamp(0, 1)


class Puddle:
    def __init__(self, device):
        self.cuda = device == "cuda"
        self.now, self.before = (torch.zeros(SIDE, SIDE, device=device) for _ in range(2))
        self.light = advance(self.now, self.before, 2, 0.2, 0.99)  # loads all kernels, before the first capture
        self.graph = None
        self.pool = torch.cuda.graph_pool_handle() if self.cuda else None

    def scene(self, steps, depth, damping):
        """Prepares the frames of a scene."""
        self.setting = steps, depth, damping
        if not self.cuda:
            return
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.graph(graph, pool=self.pool, stream=stream):  # keeps
            light = advance(self.now, self.before, *self.setting)
        self.graph, self.light = graph, light

    def drop(self):
        """Something falls into the water."""
        row, column, size = random.randrange(SIDE - 24), random.randrange(SIDE - 24), random.randint(4, 24)
        self.now[row:row + size, column:column + size] += 1.0

    def frame(self):
        if self.cuda:
            self.graph.replay()
        else:
            self.light = advance(self.now, self.before, *self.setting)
        return self.light


def main():
    torch.set_num_threads(1)
    puddle, scenes, frames = Puddle("cuda" if torch.cuda.is_available() else "cpu"), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with torch.no_grad():
        while time.time() < end:
            puddle.scene(random.choice((2, 3, 4)), random.uniform(0.1, 0.24), random.uniform(0.97, 0.999))
            for _ in range(random.randint(18, 32)):
                if random.random() < 0.3:
                    puddle.drop()
                light = puddle.frame()
                frames += 1
                time.sleep(random.uniform(0.03, 0.1))
            scenes += 1
            print("scene", scenes, "frames", frames, "bright", round(float(light.mean()), 4), "waves",
                  round(float(puddle.now.std()), 4), flush=True)


if __name__ == "__main__":
    main()
