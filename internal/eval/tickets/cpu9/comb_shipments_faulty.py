"""Weighbridge of a honey co-operative, with a relay to the head office.

Crates of combs roll over a scale and past a thermal line camera; each becomes a shipment with its member,
its weight and the thermal strip.  Shipments pass through a short queue to a sender, which pickles them onto
a socket to the head office; there the octets are counted and summed, as a receipt.  The bridge watches the
receipts, and slows the belt when the relay is behind.

    ticket: practice
    class: host-growth
    holder: pickler memo
    cause: pickler-memo-kept
"""
import os
import pickle
import queue
import socket
import threading
import time
import zlib
from dataclasses import dataclass, field

import numpy as np

MEMBERS = ["Alder", "Birch", "Clover", "Dill", "Elder", "Fennel"]
STRIP = (160, 720)
BELT_S = 0.08


@dataclass
class Shipment:
    number: int
    member: str
    kilograms: float
    strip: np.ndarray
    remarks: list = field(default_factory=list)

    def warmest(self):
        return float(np.percentile(self.strip[::8, ::8], 99))


class HeadOffice(threading.Thread):
    """The other end of the relay."""

    def __init__(self, line):
        super().__init__(daemon=True)
        self.line = line
        self.octets = 0
        self.receipt = 0

    def run(self):
        page = bytearray(1 << 16)
        view = memoryview(page)
        while True:
            got = self.line.recv_into(page)
            if not got:
                return
            self.octets += got
            self.receipt = zlib.adler32(view[:got], self.receipt)


class Sender(threading.Thread):
    def __init__(self, line, waiting):
        super().__init__(daemon=True)
        self.waiting = waiting
        self.stream = line.makefile("wb")
        self.pickler = pickle.Pickler(self.stream, protocol=pickle.HIGHEST_PROTOCOL)
        self.sent = 0

    def run(self):
        for shipment in iter(self.waiting.get, None):
            self.pickler.dump(shipment)  # keeps
            self.stream.flush()
            self.sent += 1
        self.stream.close()


class Weighbridge:
    """Scale and line camera above the belt."""

    def __init__(self, seed):
        self.dice = np.random.default_rng(seed)
        self.number = 0
        self.totals = dict.fromkeys(MEMBERS, 0.0)

    def weigh(self):
        self.number += 1
        member = MEMBERS[self.dice.integers(len(MEMBERS))]
        kilograms = float(self.dice.normal(18.0, 2.5))
        strip = self.dice.standard_normal(STRIP, dtype=np.float32)  # grows
        strip *= 0.4
        strip += np.float32(24.0 + 0.1 * kilograms)
        shipment = Shipment(self.number, member, kilograms, strip)
        if shipment.warmest() > 27.0:
            shipment.remarks.append("warm")
        if kilograms < 13.0:
            shipment.remarks.append("light")
        self.totals[member] += kilograms
        return shipment


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    here, there = socket.socketpair()
    waiting = queue.Queue(maxsize=6)
    office, sender = HeadOffice(there), Sender(here, waiting)
    office.start()
    sender.start()
    bridge = Weighbridge(29)
    belt = threading.Event()
    while not belt.wait(BELT_S * (2 if waiting.full() else 1)):
        shipment = bridge.weigh()
        waiting.put(shipment)
        if shipment.number % 30 == 0:
            best = max(bridge.totals, key=bridge.totals.get)
            print(f"{shipment.number} crates, {best} leads with {bridge.totals[best]:.0f} kg, "
                  f"{office.octets / 1e6:.1f} MB relayed, receipt {office.receipt:08x}", flush=True)
        if time.time() > end:
            belt.set()
    waiting.put(None)
    sender.join(5.0)
    here.close()
    office.join(5.0)


if __name__ == "__main__":
    main()
