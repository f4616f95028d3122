"""Transcripts of dictations are compared with what was really said, as word error rates, for checkpoint after
checkpoint of a speech model. A kernel fills the table of edit distances of each pair of texts. It is compiled for the
lengths of the batch, so the compiler knows the sizes of the table and the loops, and a kernel is used again for equal
lengths.

ticket: practice
class: driver-growth
holder: modules ErrorRate RawModule
cause: modules-made-at-run-time per-shape-compile-cache compiled-functions-kept
"""

import os
import random
import time

import cupy
import numpy as np

WORDS, PAIRS = 900, 64
SHORTEST, LONGEST = 40, 180

SOURCE = r"""
__device__ int table[SAID + 1][HEARD + 1][PAIRS];

extern "C" __global__ void distances(const int* said, const int* heard, int* errors) {
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= PAIRS) return;
    for (int j = 0; j <= HEARD; j++) table[0][j][pair] = j;
    for (int i = 1; i <= SAID; i++) {
        table[i][0][pair] = i;
        for (int j = 1; j <= HEARD; j++) {
            int change = table[i - 1][j - 1][pair] + (said[pair * SAID + i - 1] != heard[pair * HEARD + j - 1]);
            int drop = table[i - 1][j][pair] + 1, add = table[i][j - 1][pair] + 1;
            table[i][j][pair] = min(change, min(drop, add));
        }
    }
    errors[pair] = table[SAID][HEARD][pair];
}
"""


class ErrorRate:
    def __init__(self):
        self.modules = {}
        self.errors = self.words = 0

    def kernel(self, said, heard):
        if (said, heard) not in self.modules:
            options = f"-DPAIRS={PAIRS}", f"-DSAID={said}", f"-DHEARD={heard}"
            self.modules[said, heard] = cupy.RawModule(code=SOURCE, options=options)  # grows keeps
        return self.modules[said, heard].get_function("distances")

    def add(self, said, heard):
        """Counts the errors of a batch of pairs of texts."""
        errors = cupy.empty(PAIRS, dtype=cupy.int32)
        self.kernel(said.shape[1], heard.shape[1])((PAIRS // 32,), (32,), (said, heard, errors))
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
