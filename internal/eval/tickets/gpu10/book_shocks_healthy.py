"""Books of trades are valued under shocks to the market that go together as the factors behind them do, with cupy (a
GPU only). A book is valued exactly or fast, which is a setting of the handle of cuBLAS; so there are two handles of our
own, one for each, not to change that of cupy. A handle comes with memory for its work on the device.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np
from cupy_backends.cuda.libs import cublas

FACTORS, SHOCKS = 256, 4096
EXACT, FAST = 0, 3  # of cublasMath_t: the default, and TF32
ONE, NONE = np.array(1, np.float32), np.array(0, np.float32)


def handle_for(mode):
    handle = cublas.create()
    cublas.setMathMode(handle, mode)
    return handle


def market(seed):
    """How the factors go together: a triangular root of their covariance."""
    numbers = cp.random.RandomState(seed)
    loads = numbers.standard_normal((FACTORS, 12), dtype=cp.float32) * 0.01
    covariance = loads @ loads.T + cp.diag(numbers.uniform(1e-5, 1e-4, FACTORS)).astype(cp.float32)
    return cp.ascontiguousarray(cp.linalg.cholesky(covariance).T)


class Book:
    """Positions in the factors, some of them bent."""

    def __init__(self, number):
        self.number, self.mode = number, FAST if number % 2 else EXACT
        self.straight = cp.random.standard_normal(FACTORS, dtype=cp.float32) * 100
        self.bent = cp.random.standard_normal(FACTORS, dtype=cp.float32) * 500

    def worth(self, moves):
        return moves @ self.straight + 0.5 * cp.square(moves) @ self.bent


class Valuation:
    """One book under many shocks."""

    def __init__(self, book, root, handle):
        self.book, self.root, self.handle = book, root, handle
        self.moves = cp.empty((SHOCKS, FACTORS), cp.float32)

    def correlate(self, shocks):
        """shocks @ root, in rows; cuBLAS sees columns, and so both the other way round."""
        cublas.sgemm(self.handle, cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_N, FACTORS, SHOCKS, FACTORS, ONE.ctypes.data,
                     self.root.data.ptr, FACTORS, shocks.data.ptr, FACTORS, NONE.ctypes.data, self.moves.data.ptr,
                     FACTORS)
        return self.moves

    def losses(self, rounds):
        """The loss that one shock in a hundred goes beyond, and the mean of those that do."""
        worst = []
        for _ in range(rounds):
            shocks = cp.random.standard_normal((SHOCKS, FACTORS), dtype=cp.float32)
            ordered = cp.sort(-self.book.worth(self.correlate(shocks)))
            worst.append(ordered[-SHOCKS // 100:])
            time.sleep(random.uniform(0.02, 0.08))
        worst = cp.concatenate(worst)
        return float(worst.min()), float(worst.mean())


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    root, number, riskiest = market(0), 0, (0.0, None)
    handles = {mode: handle_for(mode) for mode in (EXACT, FAST)}
    while time.time() < end:
        book = Book(number)
        at_risk, short = Valuation(book, root, handles[book.mode]).losses(random.randint(20, 36))
        riskiest = max(riskiest, (round(short, 2), book.number))
        number += 1
        if number % 3 == 0:
            print(number, "books, at risk", round(at_risk, 2), "short", round(short, 2), "riskiest", riskiest,
                  flush=True)
        time.sleep(random.uniform(0.1, 0.6))


if __name__ == "__main__":
    main()
