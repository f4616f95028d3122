"""Ironing line of a hospital laundry: a thermal camera over the mangle looks for damp spots in sheets.

The rollers pass sheets under the camera. Each frame is flattened by the mean picture of the roller;
after a dozen frames the hottest and dampest places of the lot are reported through the logging
module. A handler sorts the reports by level, for the sheet that is printed at the end of the shift.

ticket: practice
class: host-growth
holder: by_level LogRecord
cause: log-records-kept
"""
import logging
import os
import threading
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)

HEIGHT, WIDTH = 300, 360
LOT = 12
FRAMES_A_SECOND = 9.0

log = logging.getLogger("mangle")


class ShiftSheet(logging.Handler):
    """Collects the reports of a shift by level."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.by_level = {"INFO": [], "WARNING": []}
        self.setFormatter(logging.Formatter("%(levelname)s %(message)s"))

    def emit(self, record):
        self.by_level[record.levelname].append(record)  # keeps

    def latest(self):
        newest = {level: len(found) for level, found in self.by_level.items()}
        record = (self.by_level["WARNING"] or self.by_level["INFO"] or [None])[-1]
        return newest, self.format(record) if record else "no report"


class Camera:
    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.roller = 160.0 + 10.0 * torch.sin(torch.linspace(0.0, 9.0, WIDTH))

    def frame(self):
        shot = torch.randn(HEIGHT, WIDTH, generator=self.gen)
        shot += self.roller
        if torch.rand(1, generator=self.gen).item() < 0.1:
            row, col = torch.randint(HEIGHT - 40, (2,), generator=self.gen).tolist()
            shot[row: row + 40, col: col + 40] -= 45.0
        return shot


class Background:
    """Running mean picture of the roller."""

    def __init__(self, rate=0.05):
        self.rate = rate
        self.mean = torch.full((HEIGHT, WIDTH), 160.0)

    def flatten(self, frame):
        flat = frame - self.mean
        self.mean.lerp_(frame, self.rate)
        return flat


class Lot:
    def __init__(self, number):
        self.number = number
        self.frames = []

    def close(self):
        """Joins the frames, smooths them and reports the lot."""
        thermogram = torch.stack(self.frames)  # grows
        smooth = F.avg_pool2d(thermogram[:, None], 8)
        damp = float((smooth < -20.0).float().mean())
        level = logging.WARNING if damp > 0.002 else logging.INFO
        log.log(level, "lot %d: damp share %.4f, coldest %.1f", self.number, damp, float(smooth.min()),
                extra={"thermogram": thermogram})
        return damp


class Line:
    def __init__(self, seed):
        self.camera = Camera(seed)
        self.background = Background()
        self.lot = Lot(1)
        self.damp = 0.0

    def turn(self):
        self.lot.frames.append(self.background.flatten(self.camera.frame()))
        if len(self.lot.frames) == LOT:
            self.damp = 0.8 * self.damp + 0.2 * self.lot.close()
            self.lot = Lot(self.lot.number + 1)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    sheet = ShiftSheet()
    log.addHandler(sheet)
    log.setLevel(logging.INFO)
    log.propagate = False
    line, clock, turns = Line(seed=88), threading.Event(), 0
    while time.time() < end:
        start = time.time()
        line.turn()
        turns += 1
        if turns % int(3 * FRAMES_A_SECOND) == 0:
            counts, text = sheet.latest()
            print(f"turn {turns}: {counts}, damp {line.damp:.4f} | {text}", flush=True)
        clock.wait(max(0.001, 1.0 / FRAMES_A_SECOND - (time.time() - start)))
    log.removeHandler(sheet)
    print(f"mangle off after {line.lot.number - 1} lots", flush=True)


if __name__ == "__main__":
    main()
