"""
Panorama service of a chain of mountain refuges. Each refuge has a turning camera; the service stitches its exposures
into a strip a little wider than the one before, as the turntable advances, reads the visibility from it and renews
the view that the valley offices show for that refuge and hour.

ticket: practice
class: pool-growth
holder: _views
cause: fragmentation
"""
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
ROUNDS_PER_PANORAMA = 9
REFUGES = (
    "Alpe Rossa", "Col du Loup", "Grauhorn", "Lago Nero",
    "Pas de l'Ours", "Weisskees", "Dent Noire", "Rifugio Sella",
)
HOURS = 12
ROWS = 256
STRIP_COLUMNS = 25300
WIDEST_STRIP = 25600
VIEW_COLUMNS = 1228
UNSIGNED_COLUMNS = 1220


class Turntable:
    """Gives the exposures of the turning camera and counts its columns."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.columns = STRIP_COLUMNS

    def exposure(self):
        return torch.rand(ROWS, 64, generator=self.generator, device=DEVICE)

    def stitch(self):
        self.columns = min(self.columns + 1, WIDEST_STRIP)
        strip = torch.empty(ROWS, self.columns, device=DEVICE)  # grows
        strip.normal_(0.5, 0.1, generator=self.generator)
        return strip


class ViewBoard:
    """The view for every refuge and hour; until the first turn a grey card without the caption's margin."""

    def __init__(self):
        self._views = [
            torch.full((ROWS, UNSIGNED_COLUMNS), 0.5, device=DEVICE) for _ in range(len(REFUGES) * HOURS)
        ]

    def renew(self, place, strip):
        self._views[place] = strip[:, :VIEW_COLUMNS].clone()  # keeps

    def brightness(self, place):
        return float(self._views[place].mean())

    def __len__(self):
        return len(self._views)


class PanoramaService:
    def __init__(self, turntable, board):
        self.turntable = turntable
        self.board = board
        self.rounds = 0
        self.panoramas = 0
        self.haze = 0.0
        self.visibility = 0.0

    def step(self):
        exposure = self.turntable.exposure()
        self.haze += 0.1 * (float(exposure.std()) - self.haze)
        if self.rounds % ROUNDS_PER_PANORAMA == 0:
            self.turn()
        self.rounds += 1

    def turn(self):
        place = self.panoramas % len(self.board)
        strip = self.turntable.stitch()
        self.visibility = self.contrast(strip)
        self.board.renew(place, strip)
        self.panoramas += 1

    @staticmethod
    def contrast(strip):
        sky = strip[: ROWS // 2, ::16].mean()
        ground = strip[ROWS // 2:, ::16].mean()
        return float((sky - ground).abs()) * 100.0


def report(service):
    place = (service.panoramas - 1) % len(service.board)
    refuge = REFUGES[place % len(REFUGES)]
    print(
        f"round {service.rounds}: {service.panoramas} panoramas, last for {refuge}, "
        f"brightness {service.board.brightness(place):.3f}, haze {service.haze:.3f}, contrast {service.visibility:.3f}",
        flush=True,
    )


def main():
    service = PanoramaService(Turntable(seed=3042), ViewBoard())
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        service.step()
        if service.rounds % (ROUNDS_PER_SECOND * 4) == 0:
            report(service)
        pause = start + service.rounds / ROUNDS_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"cameras parked after {service.panoramas} panoramas", flush=True)


if __name__ == "__main__":
    main()
