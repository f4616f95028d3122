"""Transcripts of dictations are compared with what was really said, as word error rates, for checkpoint after
checkpoint of a speech model. A kernel fills the table of edit distances of each pair of texts. It is compiled once,
and the table is large enough for the longest texts.

ticket: practice
class: none
"""

import os
import random
import time

import cupy
import numpy as np

WORDS, PAIRS = 900, 64
SHORTEST, LONGEST = 40, 180
WIDEST = LONGEST + 15

SOURCE = r"""
extern "C" __global__ void distances(const int* said, const int* heard, int* errors,
                                     int (*table)[WIDEST + 1][PAIRS], int n, int m) {
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= PAIRS) return;
    for (int j = 0; j <= m; j++) table[0][j][pair] = j;
    for (int i = 1; i <= n; i++) {
        table[i][0][pair] = i;
        for (int j = 1; j <= m; j++) {
            int change = table[i - 1][j - 1][pair] + (said[pair * n + i - 1] != heard[pair * m + j - 1]);
            int drop = table[i - 1][j][pair] + 1, add = table[i][j - 1][pair] + 1;
            table[i][j][pair] = min(change, min(drop, add));
        }
    }
    errors[pair] = table[n][m][pair];
}
"""


class ErrorRate:
    def __init__(self):
        options = f"-DPAIRS={PAIRS}", f"-DWIDEST={WIDEST}"
        self.kernel = cupy.RawModule(code=SOURCE, options=options).get_function("distances")
        self.table = cupy.empty((LONGEST + 1, WIDEST + 1, PAIRS), dtype=cupy.int32)
        self.errors = self.words = 0

    def add(self, said, heard):
        """Counts the errors of a batch of pairs of texts."""
        errors = cupy.empty(PAIRS, dtype=cupy.int32)
        sizes = np.int32(said.shape[1]), np.int32(heard.shape[1])
        self.kernel((PAIRS // 32,), (32,), (said, heard, errors, self.table, *sizes))
        self.errors += int(errors.sum())
        self.words += said.size

    def take(self):
        rate, self.errors, self.words = self.errors / self.words, 0, 0
        return rate


def dictation(skill):
    """What was said, and what a model of this skill heard: wrong words here and there, some left out or put in."""
    said = np.random.randint(WORDS, size=(PAIRS, random.randint(SHORTEST, LONGEST)), dtype=np.int32)
    heard = np.where(np.random.rand(*said.shape) < skill, said, np.random.randint(WORDS, size=said.shape))
    length = said.shape[1] + random.randint(-15, 15)
    if length > said.shape[1]:
        heard = np.concatenate([heard, heard[:, :length - said.shape[1]]], axis=1)
    heard = np.ascontiguousarray(heard[:, :length], dtype=np.int32)
    return cupy.asarray(said), cupy.asarray(heard)


def main():
    rate, checkpoint = ErrorRate(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        skill = 1 - 0.5 / (1 + checkpoint)
        for _ in range(8):
            rate.add(*dictation(skill))
            time.sleep(random.uniform(0.1, 0.4))
        checkpoint += 1
        print(f"checkpoint {checkpoint}: word error rate {rate.take():.3f}", flush=True)


if __name__ == "__main__":
    main()
