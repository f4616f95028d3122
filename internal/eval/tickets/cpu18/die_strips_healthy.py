"""A progressive die in a stamp press makes connector pins from a strip of bronze, station by station. After
each stroke the strip is measured: the force of each station, an image of the pilot holes and the pitch. The
records go as frames to the line server, which files them by checksum; the server takes frames of any size, so
the press packs all that belongs to one strip length into a single one.

ticket: practice
class: none
"""
import collections
import io
import os
import pickle
import time
import zlib

import numpy as np

STATIONS = 10
FORCE_SAMPLES = 2048
PILOT_SIZE = 256
STROKES_PER_FRAME = 4
ROUNDS_PER_SECOND = 8
STRIPS = ("bronze 0.3", "bronze 0.4", "brass 0.5")


class StrokeRecord:
    """What was measured on one stroke."""

    def __init__(self, number, forces, pilots, pitch):
        self.number = number
        self.forces = forces
        self.pilots = pilots
        self.pitch = pitch


class StripLength:
    """A length of strip between two feeds of the coil, with its strokes."""

    def __init__(self, material, strokes):
        self.material = material
        self.strokes = strokes

    def wear(self):
        return max(float(stroke.forces.max()) for stroke in self.strokes)


class ProgressiveDie:
    """The die with its stations and the camera over the pilot holes."""

    def __init__(self, rng):
        self.rng = rng
        angle = np.linspace(0.0, np.pi, FORCE_SAMPLES)
        strength = rng.uniform(4.0, 18.0, size=(STATIONS, 1))
        self.nominal = (strength * np.sin(angle) ** 4).astype(np.float32)
        self.scenes = rng.integers(0, 255, size=(600, PILOT_SIZE, PILOT_SIZE), dtype=np.uint8)
        self.strokes = 0

    def stroke(self):
        self.strokes += 1
        scatter = self.rng.standard_normal(self.nominal.shape, dtype=np.float32)
        forces = self.nominal + 0.2 * scatter
        pilots = self.scenes[self.rng.integers(len(self.scenes))].copy()
        return StrokeRecord(self.strokes, forces, pilots, pitch=float(self.rng.normal(4.0, 0.004)))

    def feed(self):
        material = STRIPS[int(self.rng.integers(len(STRIPS)))]
        return StripLength(material, [self.stroke() for _ in range(STROKES_PER_FRAME)])


class LineServer:
    """Files frames by checksum and holds the latest for the monitor."""

    def __init__(self):
        self.frames = 0
        self.octets = 0
        self.latest = collections.deque(maxlen=6)

    def file(self, frame):
        self.frames += 1
        self.octets += len(frame)
        self.latest.append((zlib.crc32(frame), frame))


class FrameLink:
    """Packs strip lengths into frames and passes them to the line server."""

    def __init__(self, server):
        self.server = server
        self._buffer = io.BytesIO()
        self._pickler = pickle.Pickler(self._buffer, protocol=pickle.HIGHEST_PROTOCOL)

    def send(self, strip):
        self._pickler.dump(strip)
        self._pickler.clear_memo()
        self.server.file(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    die = ProgressiveDie(np.random.default_rng(304))
    server = LineServer()
    link = FrameLink(server)
    wear = dict.fromkeys(STRIPS, 0.0)
    start = time.monotonic()
    next_report = start + 2.0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        strip = die.feed()
        wear[strip.material] += 0.05 * (strip.wear() - wear[strip.material])
        link.send(strip)
        if began >= next_report:
            print(f"{began - start:6.1f} s  strokes {die.strokes}  frames {server.frames}  "
                  f"sent {server.octets / 2**20:.0f} MiB  last {server.latest[-1][0]:08x}", flush=True)
            next_report = began + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    worst = max(wear, key=wear.get)
    print(f"press stopped: {die.strokes} strokes, highest force on {worst}", flush=True)


if __name__ == "__main__":
    main()
