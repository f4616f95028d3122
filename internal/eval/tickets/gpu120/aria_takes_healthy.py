"""Listens in at the rehearsals of an opera house and marks each take of an aria.
A bank of filters turns the frames of a take into bands; the mark says how well the singer stays with the
vocal score and how even the breath is. The board in the pit shows the marks of the last quarter of a minute.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
torch.manual_seed(1816)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
TAKES_PER_S = 7
BOARD_S = 15.0
FRAMES = 1024
SAMPLES = 512
BANDS = 256
ARIAS = ("Largo", "Cavatina", "Prayer", "Letter scene", "Mad scene")


@dataclass
class Verdict:
    at: float
    aria: str
    bands: torch.Tensor
    pitch: float
    breath: float

    @property
    def mark(self):
        return 0.6 * self.pitch + 0.4 * self.breath


class Stage:
    """Sings: frames of sound with a tone, overtones and some noise."""

    def __init__(self):
        self._time = torch.arange(SAMPLES, device=DEVICE, dtype=torch.float32) / 16000.0
        self._take = 0

    def sing(self):
        self._take += 1
        aria = ARIAS[self._take % len(ARIAS)]
        tones = 220.0 + 20.0 * torch.rand(FRAMES, 1, device=DEVICE)
        sound = torch.sin(6.2832 * tones * self._time)
        sound += 0.3 * torch.sin(12.5664 * tones * self._time)
        sound += 0.05 * torch.randn(FRAMES, SAMPLES, device=DEVICE)
        return aria, sound


class Ear:
    """The bank of filters and what the vocal score asks of each aria."""

    def __init__(self):
        self._bank = torch.randn(SAMPLES, BANDS, device=DEVICE) / SAMPLES ** 0.5
        self._wanted = {aria: torch.rand(BANDS, device=DEVICE) for aria in ARIAS}

    def hear(self, aria, sound):
        bands = (sound @ self._bank).square_()
        level = bands.mean(dim=0)
        wanted = self._wanted[aria]
        pitch = float(torch.nn.functional.cosine_similarity(level, wanted, dim=0))
        loudness = bands.mean(dim=1)
        breath = 1.0 / (1.0 + float(loudness.std() / (loudness.mean() + 1e-6)))
        return Verdict(time.monotonic(), aria, bands, pitch, breath)


class Board:
    def __init__(self):
        self._verdicts = []
        self.marked = 0

    def enter(self, verdict):
        self._verdicts.append(verdict)
        self.marked += 1

    def current(self):
        now = time.monotonic()
        self._verdicts = [verdict for verdict in self._verdicts if now - verdict.at <= BOARD_S]
        return self._verdicts

    def standings(self):
        marks = {}
        for verdict in self.current():
            marks.setdefault(verdict.aria, []).append(verdict.mark)
        return {aria: sum(values) / len(values) for aria, values in marks.items()}

    def brightness(self):
        """Share of the upper half of the bands in the newest takes."""
        recent = self.current()[-4:]
        if not recent:
            return 0.0
        upper = sum(float(verdict.bands[:, BANDS // 2:].sum()) for verdict in recent)
        whole = sum(float(verdict.bands.sum()) for verdict in recent)
        return upper / whole


def main():
    stage, ear, board = Stage(), Ear(), Board()
    start = time.monotonic()
    tick = start
    said = start
    with torch.no_grad():
        while time.monotonic() - start < SECONDS:
            aria, sound = stage.sing()
            board.enter(ear.hear(aria, sound))
            standings = board.standings()
            if time.monotonic() - said >= 3.0:
                said = time.monotonic()
                best = max(standings, key=standings.get)
                print(
                    f"take {board.marked}: best now {best} with {standings[best]:.3f}, "
                    f"brightness {board.brightness():.3f}",
                    flush=True,
                )
            tick += 1.0 / TAKES_PER_S
            time.sleep(max(0.0, tick - time.monotonic()))
    print(f"rehearsal over, {board.marked} takes marked", flush=True)


if __name__ == "__main__":
    main()
