"""Winery of a vineyard: tanks of fermenting must are watched through near-infrared spectra.

Each tank has a probe that sends a spectrum a few times a second. From it the sugar is estimated with
a fixed regression. A probe that falls silent is reported a quarter of an hour after its last reading,
together with the spectrum it sent then, so that the cellar hand sees in what state the must was.

ticket: practice
class: host-growth
holder: _scheduled TimerHandle _args
cause: timers-left
"""
import asyncio
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

BANDS = 512
SWEEPS = 96
TANKS = ("riesling", "silvaner", "kerner", "pinot", "merlot", "dornfelder", "bacchus", "elbling")
SILENCE = 900.0


class Probe:
    """Near-infrared probe in one tank; absorption falls as the sugar is used up."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.sugar = float(self.rng.uniform(180.0, 230.0))
        self.peak = np.exp(-np.square(np.linspace(-3.0, 3.0, BANDS)))

    def read(self):
        self.sugar = self.sugar * 0.999 + 0.02 * self.rng.standard_normal()
        spectra = self.rng.standard_normal((SWEEPS, BANDS))  # grows
        spectra *= 0.05
        spectra += self.peak * (self.sugar / 200.0)
        return spectra


class Regression:
    def __init__(self):
        axis = np.linspace(-3.0, 3.0, BANDS)
        weights = np.exp(-np.square(axis))
        self.weights = weights / float(weights @ weights)

    def sugar(self, spectra):
        return 200.0 * float(spectra.mean(axis=0) @ self.weights)


class Cellar:
    def __init__(self):
        self.model = Regression()
        self.sugar = {}
        self.readings = 0
        self.silent = []
        self.alarm = {}

    def on_reading(self, tank, spectra):
        loop = asyncio.get_running_loop()
        estimate = self.model.sugar(spectra)
        before = self.sugar.get(tank, estimate)
        self.sugar[tank] = 0.9 * before + 0.1 * estimate
        self.alarm[tank] = loop.call_later(SILENCE, self.fell_silent, tank, spectra)  # keeps
        self.readings += 1

    def fell_silent(self, tank, spectra):
        self.silent.append((tank, self.model.sugar(spectra)))

    def driest(self):
        return min(self.sugar, key=self.sugar.get)


async def attend(tank, cellar, seed, period):
    """Reads the probe of one tank at its own period."""
    probe = Probe(seed)
    await asyncio.sleep(period * (seed % 7) / 7.0)
    while True:
        began = time.monotonic()
        cellar.on_reading(tank, probe.read())
        await asyncio.sleep(max(0.01, period - (time.monotonic() - began)))


async def announce(cellar, every):
    while True:
        await asyncio.sleep(every)
        tank = cellar.driest()
        print(f"{cellar.readings} readings, driest {tank} at {cellar.sugar[tank]:.1f} g/l, "
              f"silent probes {len(cellar.silent)}", flush=True)


async def vintage(end):
    cellar = Cellar()
    duties = [asyncio.create_task(attend(tank, cellar, 11 + at, 0.45 + 0.02 * at)) for at, tank in enumerate(TANKS)]
    duties.append(asyncio.create_task(announce(cellar, 3.0)))
    while time.time() < end:
        await asyncio.sleep(0.25)
        for duty in duties:
            if duty.done():
                duty.result()
    for duty in duties:
        duty.cancel()
    await asyncio.gather(*duties, return_exceptions=True)
    return cellar


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    cellar = asyncio.run(vintage(end))
    print(f"cellar locked after {cellar.readings} readings of {len(cellar.sugar)} tanks", flush=True)


if __name__ == "__main__":
    main()
