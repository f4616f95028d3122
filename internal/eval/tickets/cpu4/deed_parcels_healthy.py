"""Deeds of a mountain archive, sent in parcels over a radio link.

The archive in the valley receives scanned deeds. Each deed is cut into numbered parcels, which come over the link
interleaved with those of other deeds; the last one completes the deed and the seal (a checksum) is compared. A deed
that the link has damaged is asked for again, and comes as a new deed with a new number. Sound ones are compressed
and entered into the catalogue.

ticket: practice
class: none
"""
import itertools
import os
import random
import time
import zlib
from typing import NamedTuple

PARCEL_BYTES = 320 * 1024
PARCELS_PER_DEED = 8
PARCELS_PER_SECOND = 32
LINES = 2


class Parcel(NamedTuple):
    deed: int
    index: int
    seal: int
    payload: bytes


class MountainArchive:
    """The sender: scans pages and answers requests for a second copy."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = itertools.count(1)
        self.again = 0

    def scan(self):
        """A page: wide margins around a noisy block of ink."""
        margin = bytes([250]) * (PARCEL_BYTES // 2)
        return margin + self.random.randbytes(PARCEL_BYTES - len(margin))

    def request_again(self, deed):
        self.again += 1

    def deed(self):
        """Parcels of one deed, sealed before they go over the link."""
        number, seal = next(self.numbers), 0
        for index in range(PARCELS_PER_DEED):
            page = self.scan()
            seal = zlib.crc32(page, seal)
            yield Parcel(number, index, seal, page)

    def send(self):
        """Parcels of several deeds in turn, without end."""
        lines = [self.deed() for _ in range(LINES)]
        for line in itertools.cycle(range(LINES)):
            parcel = next(lines[line], None)
            if parcel is None:
                lines[line] = self.deed()
                parcel = next(lines[line])
            yield parcel


def radio(parcels):
    """The link: a storm over the pass damages the third page of many deeds."""
    for parcel in parcels:
        payload = parcel.payload
        if parcel.index == 2 and parcel.deed % 5 in (0, 2, 3):
            payload = b"\x00" * 16 + payload[16:]
        yield parcel._replace(payload=bytes(bytearray(payload)))


class Reception:
    """Puts parcels together and enters the deeds."""

    def __init__(self, sender):
        self.sender = sender
        self.arriving = {}
        self.catalogue_bytes = 0
        self.entered = 0

    def take(self, parcel):
        pages = self.arriving.setdefault(parcel.deed, [])
        pages.append(parcel.payload)
        if parcel.index + 1 == PARCELS_PER_DEED:
            self.complete(parcel.deed, parcel.seal)

    def complete(self, deed, seal):
        pages = self.arriving.pop(deed)
        found = 0
        for page in pages:
            found = zlib.crc32(page, found)
        if found != seal:
            self.sender.request_again(deed)
            return
        self.enter(pages)

    def enter(self, pages):
        packed = zlib.compress(pages[0], level=1)
        self.catalogue_bytes += len(packed) * len(pages)
        self.entered += 1


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    mountain = MountainArchive(seed=33)
    valley = Reception(mountain)
    due = time.time()
    for count, parcel in enumerate(radio(mountain.send()), start=1):
        valley.take(parcel)
        if count % 96 == 0:
            print(f"parcels {count} entered {valley.entered} asked again {mountain.again} "
                  f"catalogue {valley.catalogue_bytes / 2 ** 20:.1f} MiB", flush=True)
        due += 1.0 / PARCELS_PER_SECOND
        if due > end:
            break
        time.sleep(max(0.0, due - time.time()))
    print(f"link closed, {valley.entered} deeds in the catalogue", flush=True)


if __name__ == "__main__":
    main()
