"""Retreat of a sea cliff between surveys.

Surveyors model how a scarp gives way to waves at its foot and to frost at its top. The face is a raster of how far
the rock stands out; each step of weather takes something off. Every few steps a campaign ends, and the losses of
its steps are summed up to a line in the survey book.

    ticket: practice
    class: app-leak
    holder: _losses
    cause: results-kept
"""
import os
import time
from typing import NamedTuple

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 4
ROWS, COLUMNS = 768, 512
CAMPAIGN = 8


class Weather(NamedTuple):
    surge: float
    frost: float


@jax.jit
def weather_step(face, hardness, key, surge, frost):
    """One spell of weather: gives back the new face and what each cell has lost."""
    height = jnp.linspace(0.0, 1.0, ROWS, dtype=jnp.float32)[:, None]
    attack = surge * jnp.exp(-6.0 * height) + frost * height ** 2
    gusts = jax.random.exponential(key, (ROWS, COLUMNS), dtype=jnp.float32)
    overhang = jnp.maximum(face - jnp.roll(face, 1, axis=0), 0.0)
    loss = attack * gusts / hardness + 0.05 * overhang
    return face - loss, loss


@jax.jit
def summarise(losses):
    total = sum(losses)
    return total.mean(), total.max(), jnp.argmax(total.sum(axis=1))


class Campaign(NamedTuple):
    number: int
    mean: float
    largest: float
    row: int

    def line(self):
        return f"campaign {self.number}: mean {self.mean * 100:.2f} cm, largest {self.largest:.2f} m, row {self.row}"


class SurveyBook:
    """Takes down the losses of each step and closes a campaign when it is complete."""

    def __init__(self):
        self._losses = []
        self._closed_up_to = 0
        self.campaigns = 0
        self.retreat = 0.0

    def enter(self, loss):
        self._losses.append(loss)  # keeps

    def complete(self):
        return len(self._losses) - self._closed_up_to >= CAMPAIGN

    def close(self):
        losses = self._losses[self._closed_up_to:]
        self._closed_up_to = len(self._losses)
        mean, largest, row = summarise(losses)
        self.campaigns += 1
        self.retreat += float(mean)
        return Campaign(self.campaigns, float(mean), float(largest), int(row))


class Scarp:
    def __init__(self, seed):
        self.key, rock, relief = jax.random.split(jax.random.PRNGKey(seed), 3)
        self.hardness = 1.0 + jax.random.uniform(rock, (ROWS, COLUMNS), dtype=jnp.float32)
        self.face = 40.0 + 0.5 * jax.random.normal(relief, (ROWS, COLUMNS), dtype=jnp.float32)

    def weather(self, spell):
        self.key, gusts = jax.random.split(self.key)
        self.face, loss = weather_step(self.face, self.hardness, gusts, spell.surge, spell.frost)  # grows
        return loss

    def stands_out(self):
        return float(self.face.mean())


def forecast(step):
    season = step % 40 / 40.0
    return Weather(surge=0.004 + 0.004 * season, frost=0.003 * (1.0 - season))


def main():
    scarp = Scarp(seed=1953)
    book = SurveyBook()
    start = time.monotonic()
    step = 0
    while time.monotonic() - start < SECONDS:
        book.enter(scarp.weather(forecast(step)))
        step += 1
        if book.complete():
            campaign = book.close()
            print(f"{campaign.line()}, face at {scarp.stands_out():.2f} m", flush=True)
        time.sleep(max(0.0, start + step / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{book.campaigns} campaigns in the book, retreat {book.retreat:.3f} m", flush=True)


if __name__ == "__main__":
    main()
