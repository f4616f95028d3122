"""Carnival floats, filmed before a green cloth, are put into a street, with cupy (a GPU only). The encoder beside it is
a library that takes addresses of device memory and wants allocations that stand by themselves, not pieces of a pool, so
that pictures for it are made in memory from the runtime, seen as arrays of cupy.

ticket: practice
class: driver-growth
holder: -
cause: handle-leak driver-memory-kept
"""

import math
import os
import random
import time

import cupy as cp
from cupy.cuda import runtime

HIGH, WIDE, AT_ONCE = 1080, 1920, 2
GREEN = (30, 200, 60)


def outside(*shape):
    """An array of bytes that is an allocation by itself."""
    size = math.prod(shape)
    address = runtime.malloc(size)  # grows keeps
    memory = cp.cuda.UnownedMemory(address, size, None)
    return cp.ndarray(shape, cp.uint8, cp.cuda.MemoryPointer(memory, 0))


class Encoder:
    """Takes pictures by address; here only looks how much changed from the last ones."""

    def __init__(self):
        self.pictures, self.before, self.changed = 0, cp.zeros((HIGH // 8, WIDE // 8), cp.float32), 0.0

    def encode(self, address, pictures):
        assert address % 256 == 0
        for picture in pictures:
            small = picture[::8, ::8, :3].mean(2, dtype=cp.float32)
            self.changed = float(cp.abs(small - self.before).mean())
            self.before = small
            self.pictures += 1


class Street:
    """The houses, and the light of the day on them."""

    def __init__(self):
        rows, columns = cp.mgrid[:HIGH, :WIDE].astype(cp.float32)
        walls = 90 + 60 * cp.sin(columns / 70) + 30 * cp.cos(rows / 45)
        self.houses = cp.stack([walls, 0.8 * walls, 0.6 * walls], axis=-1)

    def at(self, moment):
        return self.houses * (0.8 + 0.2 * math.sin(moment / 30))


class Film:
    """A float that moves before the cloth."""

    def __init__(self):
        self.colour = cp.array([random.uniform(120, 250), random.uniform(0, 90), random.uniform(90, 250)], cp.float32)
        self.left, self.speed = 0, random.choice((16, 24, 40))

    def next(self):
        picture = cp.empty((HIGH, WIDE, 3), cp.float32)
        picture[:] = cp.array(GREEN, cp.float32)
        picture[400:900, self.left:self.left + 600] = self.colour
        picture += cp.random.standard_normal((HIGH, WIDE, 1), dtype=cp.float32) * 6
        self.left += self.speed
        return picture

    def over(self):
        return self.left > WIDE - 600


def compose(film, street, out):
    """The float in the street, with how opaque it is as the fourth channel."""
    far = cp.sqrt(((film - cp.array(GREEN, cp.float32)) ** 2).sum(-1, keepdims=True))
    opaque = cp.clip((far - 40) / 60, 0, 1)
    out[..., :3] = cp.clip(opaque * film + (1 - opaque) * street, 0, 255).astype(cp.uint8)
    out[..., 3] = (255 * opaque[..., 0]).astype(cp.uint8)


def main():
    encoder, street, film = Encoder(), Street(), Film()
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    while time.time() < end:
        pictures = outside(AT_ONCE, HIGH, WIDE, 4)
        for picture in pictures:
            compose(film.next(), street.at(encoder.pictures), picture)
        encoder.encode(pictures.data.ptr, pictures)
        if film.over():
            film = Film()
        if time.time() - said > 2:
            said = time.time()
            print("pictures", encoder.pictures, "changed", round(encoder.changed, 2), flush=True)
        time.sleep(random.uniform(0.4, 1.2))


if __name__ == "__main__":
    main()
