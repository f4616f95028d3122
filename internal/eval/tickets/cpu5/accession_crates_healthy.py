"""Mirror of a seed bank's accessions to a second vault abroad.

Every accession that leaves the drying room gets a crate: the weights of its sachets, the
moisture curve of the dryer and a small grey picture of the seeds spread on the light table. The
crates are pickled one after the other, cut into frames with a checksum and handed to the link.
The link here is a stand-in that verifies the checksum, counts bytes and, for one frame out of
twenty, tries how much would be won by deflating it.

ticket: practice
class: none
"""
import collections
import dataclasses
import io
import os
import pickle
import struct
import time
import zlib

import numpy as np

HEADER = struct.Struct("!IIQ")
STEP = 0.1
SPECIES = ("Secale cereale", "Vicia faba", "Linum usitatissimum", "Papaver rhoeas", "Allium porrum")


@dataclasses.dataclass
class Crate:
    number: int
    species: str
    sachets: np.ndarray
    moisture: np.ndarray
    picture: np.ndarray

    def viability(self):
        dry = float(self.moisture[-50:].mean())
        return 100.0 * np.exp(-dry / 12.0) * min(1.0, float(self.sachets.mean()) / 4.0)


class DryingRoom:
    """Makes the crates; the picture is a sum of grains on a light table."""

    def __init__(self, seed, height=300, width=420):
        self.rng = np.random.default_rng(seed)
        self.rows, self.columns = np.mgrid[0:height, 0:width].astype(np.float32)
        self.number = 0

    def light_table(self, grains):
        picture = self.rng.random(self.rows.shape, dtype=np.float32) * 0.1
        for row, column in self.rng.uniform(20, 280, size=(grains, 2)):
            top, left = int(row) - 10, int(column * 1.4) - 10
            picture[max(0, top):top + 20, max(0, left):left + 20] -= 0.4
        return 1.0 + picture

    def next_crate(self):
        self.number += 1
        hours = np.linspace(0, 72, 5000 + 40 * (self.number % 50))
        moisture = 5 + 9 * np.exp(-hours / 20) + self.rng.normal(0, 0.05, hours.size)
        return Crate(self.number, SPECIES[self.number % len(SPECIES)],
                     sachets=self.rng.normal(4.2, 0.3, 500),
                     moisture=moisture,
                     picture=self.light_table(grains=60))


class Shipper:
    """Turns crates into frames; buffer and pickler are made once and used for each crate."""

    def __init__(self):
        self.buffer = io.BytesIO()
        self.pickler = pickle.Pickler(self.buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self.frames = 0

    def frame(self, crate):
        self.buffer.seek(0)
        self.buffer.truncate()
        self.pickler.dump(crate)
        self.pickler.clear_memo()
        body = self.buffer.getvalue()
        self.frames += 1
        return HEADER.pack(self.frames, zlib.crc32(body), len(body)) + body


class Link:
    """The far end: verifies the checksum, holds the last frames for a resend."""

    def __init__(self, resend=8):
        self.resend = collections.deque(maxlen=resend)
        self.bytes = 0
        self.spoiled = 0
        self.deflated = collections.deque(maxlen=10)

    def send(self, frame):
        number, checksum, length = HEADER.unpack_from(frame)
        body = memoryview(frame)[HEADER.size:]
        if len(body) != length or zlib.crc32(body) != checksum:
            self.spoiled += 1
        self.bytes += len(frame)
        self.resend.append(frame)
        if number % 20 == 1:
            self.deflated.append(len(zlib.compress(body, 1)) / len(body))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    room, shipper, link = DryingRoom(seed=3), Shipper(), Link()
    scores = collections.deque(maxlen=100)
    due = time.time()
    while due < end:
        crate = room.next_crate()
        scores.append(crate.viability())
        link.send(shipper.frame(crate))
        if room.number % 40 == 0:
            print(f"crate {crate.number}: viability {np.mean(scores):.1f} %, sent {link.bytes / 1e6:.0f} MB, "
                  f"deflated to {np.mean(link.deflated):.2f}, spoiled {link.spoiled}", flush=True)
        due = max(due + STEP, time.time())
        time.sleep(max(0.0, due - time.time()))
    print(f"link closed after {shipper.frames} frames", flush=True)


if __name__ == "__main__":
    main()
