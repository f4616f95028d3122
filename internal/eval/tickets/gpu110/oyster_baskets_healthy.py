"""Grading of oysters in the baskets of a long-line farm.

Below each of the lines a small sled with a sonar passes the baskets and sends scans to the barge. The scans wait in
the barge's inbox until the grader takes them, a batch at a time, estimates the sizes of the oysters, and brings the
growth curve of the line up to date.

    ticket: practice
    class: none
"""

import os
import queue
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
LINES = 8
GRADER_BATCH = 8
ROWS, COLUMNS = 192, 256
ROUNDS_PER_SECOND = 8
CATALOGUE = 160


@dataclass
class Scan:
    """One pass of a sled below a basket."""

    line: int
    pass_number: int
    echo: jax.Array


@jax.jit
def sonar_echo(key: jax.Array, bottom: jax.Array, growth: jax.Array) -> jax.Array:
    """What comes back from one basket: the shells above the bottom's own echo."""
    speckle = jax.random.exponential(key, (ROWS, COLUMNS))
    return (bottom + growth * speckle).astype(jnp.float32)


@jax.jit
def shell_sizes(echo: jax.Array, references: jax.Array, index: int) -> jax.Array:
    """Mean size of the shells, from how far the echo stands above its reference."""
    contrast = echo - 0.5 * references[index]
    peaks = jnp.maximum(contrast, 0.0)
    return jnp.sqrt(peaks.mean()) * 10.0


class Sled:
    """The sonar sled of one line."""

    def __init__(self, line: int, key: jax.Array) -> None:
        self.line = line
        self.key, bottom_key = jax.random.split(key)
        self.bottom = jax.random.uniform(bottom_key, (ROWS, COLUMNS))
        self.passes = 0

    def scan(self) -> Scan:
        self.passes += 1
        self.key, key = jax.random.split(self.key)
        growth = jnp.float32(0.5 + 0.001 * self.passes)
        echo = sonar_echo(key, self.bottom, growth)
        return Scan(self.line, self.passes, echo)


class Grader:
    """Estimates sizes and smooths them into one growth curve per line."""

    def __init__(self, key: jax.Array) -> None:
        self.references = jax.random.uniform(key, (CATALOGUE, ROWS, COLUMNS))
        self.sizes = [0.0] * LINES
        self.graded = 0

    def grade(self, scan: Scan) -> None:
        size = float(shell_sizes(scan.echo, self.references, scan.pass_number % CATALOGUE))
        before = self.sizes[scan.line]
        self.sizes[scan.line] = size if before == 0.0 else 0.95 * before + 0.05 * size
        self.graded += 1


class Barge:
    """Receives the scans of all sleds and hands them to the grader."""

    def __init__(self, seed: int) -> None:
        keys = jax.random.split(jax.random.key(seed), LINES + 1)
        self.sleds = [Sled(line, keys[line]) for line in range(LINES)]
        self.grader = Grader(keys[LINES])
        self.inbox: queue.Queue[Scan] = queue.Queue()

    def receive(self) -> None:
        for sled in self.sleds:
            self.inbox.put(sled.scan())

    def work(self) -> None:
        for _ in range(min(GRADER_BATCH, self.inbox.qsize())):
            self.grader.grade(self.inbox.get())

    def report(self) -> str:
        sizes = " ".join(f"{size:.1f}" for size in self.grader.sizes)
        return f"graded {self.grader.graded}, sizes {sizes}"


def main() -> None:
    barge = Barge(seed=66)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        barge.receive()
        barge.work()
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"round {rounds}: {barge.report()}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"the tide turns, {barge.report()}", flush=True)


if __name__ == "__main__":
    main()
