"""Quality service of a flour mill.

Consoles on the mill floor connect for a moment, have a few near-infrared readings of their flour
stream turned into protein and ash figures and hang up again. When the morning shift is under way
the bakeries join in from outside and use the same service with their own calibration.

ticket: practice
class: app-leak
holder: _live
cause: sessions-kept
"""
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
BAKERIES_JOIN_AT = 12.0
FLOOR_EVERY = 4
BAKERY_EVERY = 2
BANDS = 512
READINGS_PER_SESSION = 8

torch.set_num_threads(1)


class Session:
    """One connection: whose it is, its calibration and how many readings it still wants."""

    def __init__(self, client, site, calibration):
        self.client = client
        self.site = site
        self.calibration = calibration
        self.remaining = READINGS_PER_SESSION
        self.protein = 0.0

    @property
    def key(self):
        return self.client if self.site is None else f"{self.site}/{self.client}"

    def read(self, spectra):
        figures = spectra @ self.calibration
        self.protein = 10.0 + float(figures[:, 0].mean())
        self.remaining -= 1


class Spectrometer:
    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.library = torch.randn(40, 128, BANDS * 2, generator=self.generator, device=DEVICE)
        self.base = torch.randn(BANDS, BANDS, generator=self.generator, device=DEVICE) / BANDS

    def spectra(self, index):
        return self.library[index % len(self.library), :16, :BANDS]

    def calibrate(self, offset):
        return self.base + 0.01 * offset  # grows


class QualityHub:
    """Keeps the sessions that are connected and serves each of them once a round."""

    def __init__(self, spectrometer):
        self.spectrometer = spectrometer
        self._live = {}
        self.opened = 0
        self.closed = 0
        self.protein = 12.0

    def connect(self, client, site=None):
        calibration = self.spectrometer.calibrate(self.opened % 9)
        session = Session(client, site, calibration)
        self._live[session.key] = session  # keeps
        self.opened += 1
        return session

    def disconnect(self, session):
        self._live.pop(session.client, None)
        self.closed += 1
        self.protein = 0.95 * self.protein + 0.05 * session.protein

    def serve(self, index):
        spectra = self.spectrometer.spectra(index)
        for session in list(self._live.values()):
            if session.remaining == 0:
                continue
            session.read(spectra)
            if session.remaining == 0:
                self.disconnect(session)


class Shift:
    """Decides who connects in which round."""

    FLOOR = ("break", "purifier", "reduction", "sifter")
    BAKERIES = ("northgate", "old_square", "harbour")

    def __init__(self, hub):
        self.hub = hub
        self.calls = 0

    def floor(self, index):
        if index % FLOOR_EVERY == 0:
            self.calls += 1
            self.hub.connect(f"{self.FLOOR[self.calls % 4]}-{self.calls}")

    def bakeries(self, index):
        if index % BAKERY_EVERY == 0:
            self.calls += 1
            self.hub.connect(f"oven-{self.calls}", site=self.BAKERIES[self.calls % 3])


def main():
    hub = QualityHub(Spectrometer(seed=12))
    shift = Shift(hub)
    start = time.monotonic()
    last_line = start
    index = 0
    while time.monotonic() - start < SECONDS:
        shift.floor(index)
        if time.monotonic() - start >= BAKERIES_JOIN_AT:
            shift.bakeries(index)
        hub.serve(index)
        index += 1
        now = time.monotonic()
        if now - last_line >= 3.0:
            last_line = now
            print(f"{now - start:6.1f} s  sessions opened {hub.opened}  served to the end {hub.closed}"
                  f"  protein {hub.protein:.2f} %", flush=True)
        time.sleep(max(0.0, start + index / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"shift over, {hub.closed} sessions served, protein {hub.protein:.2f} %", flush=True)


if __name__ == "__main__":
    main()
