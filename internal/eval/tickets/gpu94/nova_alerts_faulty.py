"""Alert stream of a survey telescope for new stars.

Each exposure is subtracted from a template of the field after the two have been brought to the same sharpness.
Around the brightest spots of the difference stamps are cut out on the accelerator, and the stamps go out as an
alert to the brokers. A broker confirms an alert within a second or so; an alert that no broker has confirmed
is due to be sent again after twenty minutes. The console shows the stream and the signal of the latest alert.

ticket: practice
class: app-leak
holder: agenda _queue
cause: timers-left
"""
import os
import random
import sched
import time
from collections import deque
from dataclasses import dataclass
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
from jax import lax

SIDE = 1024
STAMPS = 56
STAMP = 128
CELL = 16
EXPOSURES_PER_SECOND = 5.0
SEND_AGAIN_AFTER = 20 * 60.0


@dataclass(eq=False)
class Alert:
    number: int
    stamps: jax.Array
    signal: float
    attempts: int = 0


def blur_transfer(sigma):
    rows = jnp.fft.fftfreq(SIDE)[:, None]
    columns = jnp.fft.rfftfreq(SIDE)[None, :]
    return jnp.exp(-2.0 * (jnp.pi * sigma) ** 2 * (rows ** 2 + columns ** 2))


@jax.jit
def expose(key, template):
    """The field once more, with noise and a few spots which the template does not have."""
    noise_key, place_key, flux_key = jax.random.split(key, 3)
    rows, columns = jax.random.randint(place_key, (2, 24), 8, SIDE - 8)
    fluxes = 4.0 * jax.random.exponential(flux_key, (24,))
    sky = template + 0.3 * jax.random.normal(noise_key, template.shape)
    return sky.at[rows, columns].add(fluxes)


@partial(jax.jit, static_argnames="stamps")
def subtract(exposure, template, transfer, stamps):
    spectrum = jnp.fft.rfft2(exposure - template) * transfer
    difference = jnp.fft.irfft2(spectrum, s=(SIDE, SIDE))
    cells = SIDE // CELL
    peaks = difference.reshape(cells, CELL, cells, CELL).max(axis=(1, 3)).ravel()
    values, places = lax.top_k(peaks, stamps)
    corners = jnp.stack([places // cells, places % cells]) * CELL
    corners = jnp.clip(corners - STAMP // 2, 0, SIDE - STAMP)
    cut = jax.vmap(lambda row, column: lax.dynamic_slice(difference, (row, column), (STAMP, STAMP)))
    return cut(corners[0], corners[1]), values.mean() / difference.std()


class AlertStream:
    def __init__(self):
        self.agenda = sched.scheduler(time.monotonic, time.sleep)
        self.unconfirmed = set()
        self.sent = 0
        self.repeated = 0

    def send(self, alert):
        alert.attempts += 1
        self.sent += 1
        self.repeated += alert.attempts > 1
        self.unconfirmed.add(alert.number)
        self.agenda.enter(SEND_AGAIN_AFTER, 1, self.send_again, argument=(alert,))  # keeps

    def send_again(self, alert):
        if alert.number in self.unconfirmed:
            self.send(alert)

    def confirm(self, number):
        self.unconfirmed.discard(number)


class Brokers:
    def __init__(self, rng):
        self.rng = rng
        self.answers = deque()

    def receive(self, number):
        self.answers.append((time.monotonic() + self.rng.uniform(0.5, 1.2), number))

    def confirmations(self):
        while self.answers and self.answers[0][0] <= time.monotonic():
            yield self.answers.popleft()[1]


def night(key, template, end):
    """Exposures of the field, numbered, at the pace of the camera."""
    number = 0
    while (opened := time.time()) < end:
        number += 1
        yield number, expose(jax.random.fold_in(key, number), template)
        time.sleep(max(0.0, 1.0 / EXPOSURES_PER_SECOND - (time.time() - opened)))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    key = jax.random.PRNGKey(1604)
    template = jax.random.exponential(key, (SIDE, SIDE))
    transfer = blur_transfer(1.6)
    stream, brokers = AlertStream(), Brokers(random.Random(9))
    for number, exposure in night(key, template, end):
        stamps, signal = subtract(exposure, template, transfer, STAMPS)  # grows
        stream.send(Alert(number, stamps, float(signal)))
        brokers.receive(number)
        for confirmed in brokers.confirmations():
            stream.confirm(confirmed)
        stream.agenda.run(blocking=False)
        if number % 20 == 1:
            print(f"alert {number}: signal {float(signal):.1f}; of {stream.sent} sent {len(stream.unconfirmed)} "
                  f"unconfirmed, {stream.repeated} sent again", flush=True)


if __name__ == "__main__":
    main()
