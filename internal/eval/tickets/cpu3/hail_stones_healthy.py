"""Takes pictures of hailstones from observers in the field and tells each of them how large the stones are. A picture
comes in pieces, with a wait wherever the radio has no signal; an upload that is not complete after six hours is given
up, so that an observer who has lost the connection does not keep a place.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import numpy as np

ROWS, COLUMNS, STRIPS = 480, 640, 6
PATIENCE = 6 * 3600.0


class Upload:
    def __init__(self, observer):
        self.observer = observer
        self.pieces = []
        self.complete = self.given_up = False

    def picture(self):
        return np.frombuffer(b"".join(self.pieces), np.uint8).reshape(ROWS, COLUMNS)


class Desk:
    def __init__(self, places):
        self.places = asyncio.Semaphore(places)
        self.answered = self.lost = 0

    def give_up(self, upload):
        if not upload.complete:
            upload.given_up = True
            self.lost += 1

    async def receive(self, observer, pieces):
        async with self.places:
            upload = Upload(observer)
            timer = asyncio.get_running_loop().call_later(PATIENCE, self.give_up, upload)
            async for piece in pieces:
                upload.pieces.append(piece)
                if upload.given_up:
                    return None
            timer.cancel()
            upload.complete = True
            self.answered += 1
            return largest(upload.picture())


def largest(picture):
    """The widest run of bright pixels in any row, in millimetres (five pixels each)."""
    bright = np.pad(picture > 200, ((0, 0), (1, 1)))
    edges = np.diff(bright.astype(np.int8), axis=1)
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    return int((ends[:, 1] - starts[:, 1]).max(initial=0)) / 5


async def photograph(rng):
    """The pieces of a picture as they come over the radio: bright stones on dark grass."""
    picture = rng.integers(0, 90, (ROWS, COLUMNS), dtype=np.uint8)
    down, across = np.arange(ROWS)[:, None], np.arange(COLUMNS)
    for _ in range(random.randint(3, 8)):
        middle, left, size = random.randrange(ROWS), random.randrange(COLUMNS), random.randint(8, 70)
        picture[(down - middle) ** 2 + (across - left) ** 2 < size**2] = 230
    for strip in np.array_split(picture, STRIPS):
        await asyncio.sleep(random.uniform(0.005, 0.03))
        yield strip.tobytes()


async def observe(desk, name, end):
    rng = np.random.default_rng()
    while time.time() < end:
        size = await desk.receive(name, photograph(rng))
        if size is not None and random.random() < 0.05:
            print(f"{name}: {size:.0f} mm; {desk.answered} answered, {desk.lost} lost", flush=True)
        await asyncio.sleep(random.expovariate(4))


async def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    desk = Desk(places=4)
    await asyncio.gather(*(observe(desk, name, end) for name in ("Ada", "Björn", "Chloé", "Dario", "Emre", "Freya")))


if __name__ == "__main__":
    asyncio.run(main())
