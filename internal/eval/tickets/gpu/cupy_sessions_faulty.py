"""Cameras connect to a filter of frames for a short while each, and the work for a camera runs in a stream.
Every session makes a stream, and what the pool has for that stream is left when the session is over.

ticket: cupy/cupy#8068
class: pool-growth
cause: pool-never-trims size-class-misses
"""

import argparse
import logging
import os
import random
import time

import cupy as cp
import numpy as np

log = logging.getLogger("frames")


class Camera:
    """Frames of one camera, as they come from the wire."""

    def __init__(self, number, size):
        self.rng, self.size = np.random.default_rng(number), size
        self.scene = self.rng.random((size, size), dtype=np.float32)

    def frame(self):
        self.scene = np.roll(self.scene, 3, axis=1)
        return self.scene + np.float32(0.01 * self.rng.random())


class Filter:
    def __init__(self, size):
        self.size = size

    def smooth(self, frame):
        around = (cp.roll(frame, 1, 0) + cp.roll(frame, -1, 0) + cp.roll(frame, 1, 1) + cp.roll(frame, -1, 1))  # grows
        return 0.5 * frame + 0.125 * around  # grows

    def process(self, frame):
        raw = cp.asarray(frame)  # grows
        smooth = self.smooth(raw)
        edges = cp.abs(raw - smooth)  # grows
        return float(edges.mean()), float(smooth.max())


class Session:
    """The work for one camera, in its stream, with the marks that its times are taken from."""

    def __init__(self, number, options, stream):
        self.camera, self.filter, self.stream = Camera(number, options.size), Filter(options.size), stream
        self.marks, self.results = [], []

    def run(self, frames, pause):
        with self.stream:
            for _ in range(frames):
                start, stop = cp.cuda.Event(), cp.cuda.Event()
                start.record(self.stream)
                self.results.append(self.filter.process(self.camera.frame()))
                stop.record(self.stream)
                self.marks.append((start, stop))
                time.sleep(pause)
        self.stream.synchronize()

    def times(self):
        return [cp.cuda.get_elapsed_time(start, stop) for start, stop in self.marks]


class Server:
    def __init__(self, options):
        self.options, self.number, self.slowest = options, 0, 0.0
        self.streams = []

    def next_stream(self):
        self.streams.append(cp.cuda.Stream(non_blocking=True))
        return self.streams[-1]

    def serve(self):
        self.number += 1
        session = Session(self.number, self.options, self.next_stream())
        session.run(random.randint(8, 30), self.options.pause)
        self.slowest = max(self.slowest, *session.times())
        return session.results

    def close(self):
        for stream in self.streams:
            stream.synchronize()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=768)
    parser.add_argument("--pause", type=float, default=0.04)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    end = time.time() + float(os.environ.get("SECONDS", "40"))
    server = Server(options)
    while time.time() < end:
        results = server.serve()
        edges = sum(r[0] for r in results) / len(results)
        log.info("session %d: %d frames, edges %.4f, slowest %.2f ms", server.number, len(results), edges, server.slowest)
    server.close()


if __name__ == "__main__":
    main()
