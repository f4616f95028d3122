"""Colour flats for a comic artist: inked panels are filled with flat colours, region by region.

An inked panel is softened, its outlines are traced and the areas between them get a colour of the
palette. A panel whose outlines are open cannot be filled; it is put on the list of rejects that goes
back to the artist with the number of the panel and the reason.

ticket: practice
class: host-growth
holder: rejects __traceback__ tb_frame
cause: exception-kept
"""
import os
import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)

PANELS_A_SECOND = 7
SIDE = 352


class OpenOutline(ValueError):
    """The outlines of a panel do not close."""


class Artist:
    """Draws panels: strokes of ink on paper, sometimes by a tired hand."""

    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.grain = torch.rand(3, SIDE, SIDE, generator=self.gen)

    def draw(self):
        panel = self.grain.roll(int(torch.randint(SIDE, (1,), generator=self.gen)), dims=2)  # grows
        tired = torch.rand(1, generator=self.gen).item() < 0.3
        for at in torch.randint(8, SIDE - 8, (14,), generator=self.gen).tolist():
            panel[:, at: at + 2, :] = 0.0
            panel[:, :, SIDE - at - 2: SIDE - at] = 0.0
            if tired:
                panel[:, at: at + 2, SIDE // 3: 2 * SIDE // 3] = 0.9
        return panel


class Tracer:
    def __init__(self, slack):
        self.slack = slack

    def outlines(self, soft):
        dark = (soft < 0.25).float()  # grows
        rows = dark.mean(dim=1)
        gap = float((rows[rows > 0.3] - 1.0).abs().median()) if bool((rows > 0.3).any()) else 1.0
        if gap > self.slack:
            raise OpenOutline(f"outline open over {gap:.0%} of its length")
        return dark


class FlatDesk:
    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.palette = torch.rand(3, 24, generator=self.gen)
        self.tracer = Tracer(slack=0.25)
        self.rejects = []
        self.done = 0
        self.coverage = 0.0

    def soften(self, panel):
        luma = panel.mean(dim=0, keepdim=True)[None]
        return F.avg_pool2d(luma, kernel_size=3, stride=1, padding=1)[0, 0]  # grows

    def fill(self, panel):
        soft = self.soften(panel)
        dark = self.tracer.outlines(soft)
        regions = (torch.cumsum(dark[:, 0], 0)[:, None] + torch.cumsum(dark[0], 0)[None]).long() % 24
        flats = self.palette[:, regions]
        return flats * (1.0 - dark) + panel * dark * 0.1

    def accept(self, number, panel):
        try:
            flats = self.fill(panel)
        except OpenOutline as reason:
            self.rejects.append((number, reason))  # keeps
            return
        self.done += 1
        self.coverage += 0.05 * (float((flats > 0.5).float().mean()) - self.coverage)

    def report(self):
        number, reason = self.rejects[-1] if self.rejects else (0, "none")
        return f"flats {self.done}, coverage {self.coverage:.3f}, last reject {number}: {reason}"


class Pace:
    def __init__(self, rate):
        self.gap = 1.0 / rate
        self.due = time.time()

    def wait(self):
        self.due = max(self.due + self.gap, time.time())
        time.sleep(max(0.0, self.due - time.time()))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    artist, desk, pace = Artist(seed=61), FlatDesk(seed=62), Pace(PANELS_A_SECOND)
    number = 0
    with torch.no_grad():
        while time.time() < end:
            number += 1
            desk.accept(number, artist.draw())
            if number % (3 * PANELS_A_SECOND) == 0:
                print(f"panel {number}: {desk.report()}", flush=True)
            pace.wait()
    print("album coloured;", desk.report(), flush=True)


if __name__ == "__main__":
    main()
