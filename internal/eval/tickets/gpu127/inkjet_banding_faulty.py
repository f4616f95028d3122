"""Banding correction for the wide inkjet of a print shop.

The nozzles of the print heads do not fire alike, which shows as bands along the sheet. A small network learns
the correction for each nozzle from scanned test strips. The operator may go back to an earlier state of the
correction when a new one makes the bands worse.

ticket: practice
class: app-leak
holder: _states
cause: snapshots-kept
"""
import os
import time
from functools import partial

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
STRIPS_PER_SECOND = 8
STRIPS_PER_STATE = 2
NOZZLES = 384
HIDDEN = 512
STRIP_ROWS = 128
SCAN_ROWS = 16_384
RATE = 0.02


def make_correction(key: jax.Array) -> dict[str, jax.Array]:
    first, second = jax.random.split(key)
    return {
        "inner": jax.random.normal(first, (NOZZLES, HIDDEN)) / jnp.sqrt(NOZZLES),
        "inner_bias": jnp.zeros(HIDDEN),
        "outer": jax.random.normal(second, (HIDDEN, NOZZLES)) / jnp.sqrt(HIDDEN),
        "outer_bias": jnp.zeros(NOZZLES),
    }


def correct(correction: dict[str, jax.Array], ink: jax.Array) -> jax.Array:
    hidden = jnp.tanh(ink @ correction["inner"] + correction["inner_bias"])
    return ink + hidden @ correction["outer"] + correction["outer_bias"]


def banding(correction: dict[str, jax.Array], ink: jax.Array, response: jax.Array) -> jax.Array:
    printed = correct(correction, ink) * response
    return jnp.mean((printed - ink) ** 2)


@partial(jax.jit, donate_argnums=0)
def learn(correction, ink, response):
    loss, slopes = jax.value_and_grad(banding)(correction, ink, response)
    return jax.tree.map(lambda weight, slope: weight - RATE * slope, correction, slopes), loss


@jax.jit
def strip_rows(scan: jax.Array, start: jax.Array) -> jax.Array:
    return jax.lax.dynamic_slice(scan, (start, 0), (STRIP_ROWS, NOZZLES))


class BandingBench:
    """Prints strips, learns from them and notes the states of the correction."""

    def __init__(self, seed: int):
        keys = jax.random.split(jax.random.key(seed), 3)
        self.correction = make_correction(keys[0])
        self.scan = jax.random.uniform(keys[1], (SCAN_ROWS, NOZZLES))
        self.response = 1.0 + 0.1 * jax.random.normal(keys[2], (NOZZLES,))
        self._states: list[tuple[int, float, dict[str, jax.Array]]] = []
        self.strips = 0
        self.went_back = 0

    def strip(self) -> float:
        start = (self.strips * 97) % (SCAN_ROWS - STRIP_ROWS)
        ink = strip_rows(self.scan, start)
        self.correction, loss = learn(self.correction, ink, self.response)
        self.strips += 1
        loss = float(loss)
        if self.strips % STRIPS_PER_STATE == 0:
            self._note_state(loss)
        return loss

    def _note_state(self, loss: float) -> None:
        state = jax.tree.map(jnp.copy, self.correction)  # grows
        self._states.append((self.strips, loss, state))  # keeps

    def go_back_if_worse(self, loss: float) -> None:
        if len(self._states) < 3:
            return
        _, earlier_loss, state = self._states[-3]
        if loss > 1.5 * earlier_loss:
            self.correction = jax.tree.map(jnp.copy, state)
            self.went_back += 1

    def best_recent(self) -> tuple[int, float]:
        strip, loss, _ = min(self._states[-6:], key=lambda entry: entry[1])
        return strip, loss


def main() -> None:
    bench = BandingBench(seed=81)
    started = time.monotonic()
    due = started
    next_report = started + 3.0
    loss = 0.0
    while time.monotonic() - started < SECONDS:
        loss = bench.strip()
        if bench.strips % 10 == 0:
            bench.go_back_if_worse(loss)
        if time.monotonic() >= next_report and bench.strips >= STRIPS_PER_STATE:
            strip, best = bench.best_recent()
            print(f"strip {bench.strips}: banding {loss:.5f}, best of late {best:.5f} at strip {strip}", flush=True)
            next_report += 3.0
        due += 1.0 / STRIPS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"{bench.strips} strips printed, went back {bench.went_back} times, banding {loss:.5f}", flush=True)


if __name__ == "__main__":
    main()
