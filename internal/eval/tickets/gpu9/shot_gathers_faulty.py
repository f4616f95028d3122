"""The waves of the shots of a seismic line are computed, each shot on a stream of its own. The streams are kept, so as
to wait for them at the end of a line, and cupy's pool keeps what was freed on a stream for that stream. It needs a GPU.

ticket: practice
class: pool-growth
holder: streams
cause: pool-for-each-stream pool-never-trims
"""

import math
import os
import random
import time

import cupy as cp
import numpy as np

DEPTH, WIDTH = 480, 640


class Survey:
    """Shots into one ground, and what comes back at the top."""

    def __init__(self):
        ground = np.full((DEPTH, WIDTH), 1500, np.float32)
        for top in (90, 200, 330):
            ground[top:] += 500
            ground[top:, WIDTH // 3:] += random.uniform(0, 200)
        self.speed = cp.asarray((ground * 0.0008 / 5) ** 2)
        edge = np.ones((DEPTH, WIDTH), np.float32)
        for depth in range(30):
            edge[depth:DEPTH - depth, depth:WIDTH - depth] = 0.9 + 0.1 * (depth + 1) / 30
        self.edge = cp.asarray(edge)
        self.streams, self.shots = [], 0
        cp.cuda.Device().synchronize()

    def stream(self):
        """A stream for the next shot."""
        stream = cp.cuda.Stream(non_blocking=True)
        self.streams.append(stream)  # keeps
        return stream

    def shoot(self, at, steps):
        """The sound at the top, a row for each step."""
        self.shots += 1
        with self.stream() as stream:
            now = cp.zeros((DEPTH, WIDTH), cp.float32)  # grows
            before, top = cp.zeros_like(now), cp.zeros((400, WIDTH), cp.float32)  # grows
            for step in range(steps):
                bend = cp.zeros_like(now)
                bend[1:-1, 1:-1] = (now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
                                    - 4 * now[1:-1, 1:-1])
                after = (2 * now - before + self.speed * bend) * self.edge
                phase = (3.14159 * 0.02 * (step - 50)) ** 2
                after[32, at] += (1 - 2 * phase) * math.exp(-phase)
                before, now = now * self.edge, after
                top[step] = now[34]
            stream.synchronize()
            return top.get()

    def wait(self):
        for stream in self.streams:
            stream.synchronize()


def stacked(gathers):
    """The mean of what was heard at each distance from the shots."""
    total, heard = np.zeros(200), np.zeros(200)
    for at, top in gathers:
        distance = np.abs(np.arange(WIDTH) - at)
        loud = np.abs(top).max(0)
        near = distance < 200
        np.add.at(total, distance[near], loud[near])
        np.add.at(heard, distance[near], 1)
    return total / np.maximum(heard, 1)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    survey, lines = Survey(), 0
    while time.time() < end:
        gathers = []
        for at in range(60, WIDTH - 60, random.choice((40, 60, 80))):
            gathers.append((at, survey.shoot(at, random.randint(150, 400))))
            time.sleep(random.uniform(0.3, 0.5))
            if time.time() > end:
                break
        survey.wait()
        lines += 1
        print("line", lines, survey.shots, "shots", np.round(stacked(gathers)[::50], 4).tolist(), flush=True)


if __name__ == "__main__":
    main()
