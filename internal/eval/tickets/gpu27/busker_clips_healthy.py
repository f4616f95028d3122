"""Passers-by send clips of street musicians, and CuPy makes a poster of each: the sharpest of its frames, in grey, with
its contrast stretched. The clips share four streams, so that few of them wait for one another, and a clip that is
asked for again can be waited for by its number.

ticket: practice
class: none
"""

import os
import time

import cupy
import numpy as np

FRAMES, HEIGHT, WIDTH, STREAMS = 12, 200, 320, 4


class Studio:
    def __init__(self):
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(STREAMS)]
        self.posters = 0

    def stream(self, clip):
        return self.streams[clip % STREAMS]

    def poster(self, clip, frames):
        """The best frame of a clip, as bytes."""
        with self.stream(clip):
            colours = cupy.asarray(frames)
            grey = self.grey(colours)
            best = int(self.sharpness(grey).argmax())
            picture = self.stretch(grey[best])
            self.posters += 1
            return best, cupy.asnumpy(picture)

    @staticmethod
    def grey(colours):
        light = colours[..., 0] * cupy.float32(0.299)
        light += colours[..., 1] * cupy.float32(0.587)
        light += colours[..., 2] * cupy.float32(0.114)
        return light

    @staticmethod
    def sharpness(grey):
        """How much neighbours differ, for each frame."""
        across = cupy.abs(grey[:, :, 1:] - grey[:, :, :-1])
        down = cupy.abs(grey[:, 1:] - grey[:, :-1])
        return across.sum(axis=(1, 2)) + down.sum(axis=(1, 2))

    @staticmethod
    def stretch(picture):
        low, high = picture.min(), picture.max()
        return (255 * (picture - low) / cupy.maximum(high - low, 1)).astype(cupy.uint8)

    def wait(self, clip):
        self.stream(clip).synchronize()


def film(rng):
    """A fiddler before a wall, more or less in focus."""
    small = rng.integers(0, 256, (FRAMES, HEIGHT // 8, WIDTH // 8, 3), dtype=np.uint8)
    frames = small.repeat(8, axis=1).repeat(8, axis=2)
    focus = rng.integers(FRAMES)
    frames[focus] = rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    return frames


def main():
    rng, studio, clip = np.random.default_rng(3), Studio(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        clip += 1
        best, picture = studio.poster(clip, film(rng))
        if rng.random() < 0.3:
            studio.wait(clip)
        if clip % 10 == 0:
            print(f"clip {clip}: frame {best} is the poster, light {picture.mean():.0f}", flush=True)
        time.sleep(rng.uniform(0.3, 0.6))


if __name__ == "__main__":
    main()
