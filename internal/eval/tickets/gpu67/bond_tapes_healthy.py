"""Minimum-variance hedge on an expanding window. Every bar appends one row of yield changes to the tape on the card;
the covariance is re-estimated over the whole tape with exponential weights and the book is re-hedged. The process is
restarted over the weekend, so the tape, which is allocated once, has room for a week of bars.

ticket: practice
class: none
"""

import os
import time
from dataclasses import dataclass, field
from statistics import fmean

import cupy as cp

BONDS = 128
CAPACITY = 200_000
HISTORY = 5_000
HALF_LIFE = 20_000.0
RIDGE = 1e-3


@dataclass
class Tape:
    rows: cp.ndarray = field(default_factory=lambda: cp.zeros((CAPACITY, BONDS), dtype=cp.float32))
    filled: int = 0

    def extend(self, bars: cp.ndarray) -> None:
        self.rows[self.filled : self.filled + len(bars)] = bars
        self.filled += len(bars)

    @property
    def window(self) -> cp.ndarray:
        return self.rows[: self.filled]


@dataclass
class Factors:
    """Level, slope and curvature with noise on top."""

    loadings: cp.ndarray

    @classmethod
    def nelson_siegel(cls) -> "Factors":
        tenor = cp.linspace(0.5, 30.0, BONDS, dtype=cp.float32)
        slope = (1 - cp.exp(-tenor / 2)) / (tenor / 2)
        return cls(cp.stack([cp.ones_like(tenor), slope, slope - cp.exp(-tenor / 2)]))

    def bars(self, count: int) -> cp.ndarray:
        moves = cp.random.standard_normal((count, 3), dtype=cp.float32)
        noise = cp.random.standard_normal((count, BONDS), dtype=cp.float32)
        return moves @ self.loadings + 0.2 * noise


def hedge(window: cp.ndarray, decay: cp.ndarray) -> cp.ndarray:
    weight = decay[CAPACITY - len(window) :, None]
    centred = window - window.mean(axis=0)
    scaled = centred * weight
    cov = scaled.T @ scaled / (weight * weight).sum()
    cov += RIDGE * cp.eye(BONDS, dtype=cp.float32)
    raw = cp.linalg.solve(cov, cp.ones(BONDS, dtype=cp.float32))
    return raw / raw.sum()


def main() -> None:
    cp.random.seed(7)
    factors, tape = Factors.nelson_siegel(), Tape()
    age = cp.arange(CAPACITY - 1, -1, -1, dtype=cp.float32)
    decay = cp.exp2(-age / (2 * HALF_LIFE))
    tape.extend(factors.bars(HISTORY))
    pnl: list[float] = []
    book = hedge(tape.window, decay)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        bar = factors.bars(1)
        pnl = pnl[-250:] + [float((bar @ book)[0])]
        tape.extend(bar)
        book = hedge(tape.window, decay)
        cp.get_default_memory_pool().free_all_blocks()
        if tape.filled % 25 == 0:
            top = int(cp.abs(book).argmax())
            leg = f"largest leg #{top} {float(book[top]):+.3f}"
            print(f"bar {tape.filled}: mean pnl {fmean(pnl):+.4f}, {leg}", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
