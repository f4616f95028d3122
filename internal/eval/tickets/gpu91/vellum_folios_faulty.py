"""Pairs sheets of vellum for a bookbinder, so that the pages that face each other are alike.

A sheet of vellum has a grain, from the way the skin was stretched, and a tone. The binder lays a sheet under the
scanner; the program takes its grain from the spectrum of the scan, smooths it into a map over the sheet, and puts the
folio on the bench. Of the folios on the bench the two that are most alike in grain and tone are sewn together and
signed off in the book of the shop. Should the binder leave a folio lying, it is signed off when the shop closes.

ticket: practice
class: app-leak
holder: _registry finalize sign_off
cause: registered-for-the-end
"""
import os
import time
import weakref
from collections import deque

import torch
import torch.nn.functional as F

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SIDE = 1024
BENCH = 6
BEAT = 0.2


class ShopBook:
    """Who was signed off, and when."""

    def __init__(self):
        self.last = deque(maxlen=20)

    def sign(self, number):
        self.last.append((number, time.time()))


class Scanner:
    def __init__(self):
        self.rows = torch.linspace(0, 1, SIDE, device=DEVICE)[:, None]
        self.columns = torch.linspace(0, 1, SIDE, device=DEVICE)[None, :]

    def scan(self):
        turn, tone = torch.rand(2, device=DEVICE)
        stripes = torch.sin(400.0 * (turn * self.rows + (1 - turn) * self.columns))
        return 0.6 + 0.2 * tone + 0.1 * stripes + 0.05 * torch.randn(SIDE, SIDE, device=DEVICE)


class Grain:
    """Finds the grain of a scan: the fine part of its spectrum, as strength over the sheet."""

    def __init__(self):
        up = torch.fft.fftfreq(SIDE, device=DEVICE)[:, None]
        across = torch.fft.rfftfreq(SIDE, device=DEVICE)[None, :]
        pitch = torch.sqrt(up * up + across * across)
        self.band = ((pitch > 0.02) & (pitch < 0.2)).float()

    def __call__(self, scan):
        fine = torch.fft.irfft2(torch.fft.rfft2(scan) * self.band, s=(SIDE, SIDE))
        return F.avg_pool2d(fine.abs()[None, None], 9, stride=1, padding=4)[0, 0]


class Folio:
    def __init__(self, number, scan, grain, book):
        self.number = number
        self.book = book
        self.tone = scan.mean()
        self.grain = grain(scan)  # grows
        self.done = False
        weakref.finalize(self, self.sign_off)  # keeps

    def sign_off(self):
        if not self.done:
            self.done = True
            self.book.sign(self.number)

    def unlike(self, other):
        return (self.grain - other.grain).abs().mean() + (self.tone - other.tone).abs()


class Bench:
    """The folios that wait for a partner."""

    def __init__(self):
        self.waiting = []
        self.sewn = 0

    def lay(self, folio):
        self.waiting.append(folio)

    def sew(self):
        best = None
        for place, one in enumerate(self.waiting):
            for other in self.waiting[place + 1:]:
                gap = float(one.unlike(other))
                if best is None or gap < best[0]:
                    best = (gap, one, other)
        gap, one, other = best
        self.waiting = [folio for folio in self.waiting if folio is not one and folio is not other]
        one.sign_off()
        other.sign_off()
        self.sewn += 1
        return one.number, other.number, gap


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(66)
    scanner, grain = Scanner(), Grain()
    bench, book = Bench(), ShopBook()
    number = 0
    while time.time() < end:
        began = time.time()
        number += 1
        bench.lay(Folio(number, scanner.scan(), grain, book))
        if len(bench.waiting) >= BENCH:
            left, right, gap = bench.sew()
            if bench.sewn % 8 == 0:
                print(f"folio {number}: sewed {left} to {right}, unlike by {gap:.4f}", flush=True)
        time.sleep(max(0.0, BEAT - (time.time() - began)))
    print(f"{bench.sewn} pairs sewn, last in the book is {book.last[-1][0]}", flush=True)


if __name__ == "__main__":
    main()
