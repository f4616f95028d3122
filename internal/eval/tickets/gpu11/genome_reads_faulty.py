"""Pieces of DNA as a sequencer reads them are laid against a genome: a position that many words of a read point to is
where it comes from. Samples come one after the other. Each has a logger with its name, with a handler that writes what
the sample has come to in front of the messages, and counts the warnings for the report at the end of the sample.

ticket: practice
class: host-growth
holder: handlers loggerDict sample
cause: callbacks-left results-kept registered-for-the-end
"""

import logging
import os
import random
import sys
import time

import numpy as np
import torch

GENOME, WORD, LENGTH, CHUNK = 300000, 9, 150, 2048


class Sample:
    """Reads of one patient: windows of the genome with some letters misread."""

    def __init__(self, number, genome, numbers):
        self.name, self.done, self.placed = f"S{number:05d}", 0, 0
        count = CHUNK * random.choice((8, 10, 12))
        self.truth = numbers.integers(0, GENOME - LENGTH, count)
        self.reads = np.lib.stride_tricks.sliding_window_view(genome, LENGTH)[self.truth]  # grows
        misread = numbers.integers(0, 100, self.reads.shape, np.uint8) < random.choice((2, 5, 12))
        self.reads[misread] ^= 1


class Progress(logging.StreamHandler):
    """Writes how far the sample is, and counts its warnings."""

    def __init__(self, sample):
        super().__init__(sys.stdout)
        self.sample, self.warnings = sample, 0

    def emit(self, record):
        self.warnings += record.levelno >= logging.WARNING
        if record.levelno >= logging.INFO:
            super().emit(record)

    def format(self, record):
        return f"{self.sample.name} {self.sample.done}/{len(self.sample.reads)} {super().format(record)}"


def logger_of(sample):
    log = logging.getLogger(f"reads.{sample.name}")
    log.setLevel(logging.INFO)
    log.propagate = False
    handler = Progress(sample)
    log.addHandler(handler)  # keeps
    return log, handler


class Index:
    """Where in the genome each word stands, the last place of it."""

    def __init__(self, genome, device):
        self.device, self.power = device, 4 ** torch.arange(WORD, device=device)
        self.place = torch.full((4 ** WORD,), -10 ** 6, device=device)
        self.place[self.words(torch.from_numpy(genome).to(device)[None])[0]] = torch.arange(GENOME - WORD + 1,
                                                                                          device=device)

    def words(self, letters):
        return (letters.unfold(1, WORD, 1).long() * self.power).sum(2)

    def locate(self, reads):
        """The place of each read, and how many of its words agree on it."""
        words = self.words(reads.to(self.device))[:, ::3]
        starts = self.place[words] - 3 * torch.arange(words.shape[1], device=self.device)
        middle = starts.median(1, keepdim=True).values
        usual = starts.mode(1, keepdim=True).values
        agree = (starts == usual).sum(1)
        return torch.where(agree > 2, usual[:, 0], middle[:, 0]), agree


def align(sample, index):
    log, handler = logger_of(sample)
    for start in range(0, len(sample.reads), CHUNK):
        places, agree = index.locate(torch.from_numpy(sample.reads[start:start + CHUNK]))
        right = places.cpu().numpy() == sample.truth[start:start + CHUNK]
        sample.done, sample.placed = start + len(right), sample.placed + int(right.sum())
        if float((agree > 2).float().mean()) < 0.7:
            log.warning("many reads fit nowhere, words that agree: %.1f", float(agree.float().mean()))
        time.sleep(random.uniform(0.02, 0.1))
    log.info("placed %.3f, %d warnings", sample.placed / sample.done, handler.warnings)


def main():
    torch.set_num_threads(1)
    numbers, number = np.random.default_rng(0), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    genome = numbers.integers(0, 4, GENOME).astype(np.uint8)
    index = Index(genome, "cuda" if torch.cuda.is_available() else "cpu")
    while time.time() < end:
        align(Sample(number, genome, numbers), index)
        number += 1


if __name__ == "__main__":
    main()
