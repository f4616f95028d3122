"""Linen service of a hospital: trolleys go from the laundry to a ward and come back with used linen.

Every trolley has a reader for the chips sewn into sheets and gowns. While it is on its round the
reader sends raw frames and a load cell sends weights; both are gathered for the round and looked at
when the trolley is back at the laundry door. A frame carries the code of its round only, so the
gateway looks the round up by that code. Trolleys of a ward come back together.

ticket: practice
class: host-growth
holder: by_code TrolleyRound frames
cause: sessions-kept
"""
import itertools
import os
import random
import time
import zlib
from array import array
from dataclasses import dataclass, field
from typing import ClassVar, Dict, List

WARDS = ("maternity", "surgery", "dialysis", "burns", "geriatrics")
TROLLEYS_PER_WARD = 5
FRAME_BYTES = 20_000
STEP = 1 / 14


@dataclass(eq=False)
class TrolleyRound:
    code: int
    ward: str
    pieces_out: int
    frames: bytearray = field(default_factory=bytearray)
    weights: array = field(default_factory=lambda: array("d"))
    by_code: ClassVar[Dict[int, "TrolleyRound"]] = {}

    def __post_init__(self):
        self.by_code[self.code] = self  # keeps

    def receive(self, frame, weight):
        self.frames.extend(frame)  # grows
        self.weights.append(weight)

    def finish(self):
        """Checksum and soiled share of the round, for the laundry's sheet."""
        span = max(self.weights) - min(self.weights)
        mark = zlib.crc32(memoryview(self.frames)[:65536])
        return Receipt(self.ward, self.pieces_out, span, mark)


@dataclass(frozen=True)
class Receipt:
    ward: str
    pieces: int
    weight_span: float
    mark: int


@dataclass
class WardTour:
    """The trolleys that are out for one ward, and how many frames each still has to send."""

    ward: str
    left: int
    codes: List[int]


class Laundry:
    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.codes = itertools.count(70_001)
        self.tours = [self.send_out(ward, 6 + 3 * at) for at, ward in enumerate(WARDS)]
        self.pieces = dict.fromkeys(WARDS, 0)
        self.last_receipt = None

    def send_out(self, ward, frames):
        rounds = [TrolleyRound(next(self.codes), ward, self.rnd.randint(40, 90)) for _ in range(TROLLEYS_PER_WARD)]
        return WardTour(ward, frames, [each.code for each in rounds])

    def gateway(self, code):
        weight = 20.0 + self.rnd.gauss(0.0, 2.5)
        TrolleyRound.by_code[code].receive(self.rnd.randbytes(FRAME_BYTES), weight)

    def come_back(self, tour):
        for code in tour.codes:
            receipt = TrolleyRound.by_code[code].finish()
            self.pieces[tour.ward] += receipt.pieces
            self.last_receipt = receipt

    def step(self):
        for at, tour in enumerate(self.tours):
            for code in tour.codes:
                self.gateway(code)
            tour.left -= 1
            if tour.left == 0:
                self.come_back(tour)
                self.tours[at] = self.send_out(tour.ward, self.rnd.randint(14, 24))

    def summary(self):
        last = self.last_receipt
        total = sum(self.pieces.values())
        span = f"{last.weight_span:.1f} kg" if last else "-"
        return f"pieces {total}, out {sum(len(t.codes) for t in self.tours)} trolleys, last span {span}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    laundry = Laundry(seed=1907)
    for step in itertools.count(1):
        began = time.time()
        if began >= end:
            break
        laundry.step()
        if step % 50 == 0:
            print(f"step {step}: {laundry.summary()}", flush=True)
        time.sleep(max(0.0, STEP - (time.time() - began)))
    print("laundry door shut:", laundry.summary(), flush=True)


if __name__ == "__main__":
    main()
