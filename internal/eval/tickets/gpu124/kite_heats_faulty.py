"""Judging the heats of a kite race.

Kites send their tracks in after every heat. The jury rebuilds the speed along each track, checks it against the course,
and ranks the pilots. Tracks with a missed mark or a start before the gun go to the protest desk, which reads out how
many cases there are and what the newest one says.

ticket: practice
class: app-leak
holder: _protests
cause: exception-kept
"""

import os
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(77)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
KITES = 64
SAMPLES = 2048
HEATS_A_SECOND = 10


class RuleBreach(Exception):
    """A heat that cannot stand as it was sailed."""

    def __init__(self, heat, rule, kite):
        super().__init__(f"heat {heat}: {rule}, kite {kite}")
        self.heat = heat
        self.rule = rule
        self.kite = kite


class Course:
    """Marks of the course and the gun; tracks are drawn around it."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        turn = torch.linspace(0.0, 12.56, SAMPLES)
        self.line = torch.stack((400.0 * torch.cos(turn), 250.0 * torch.sin(turn))).to(DEVICE)
        self.tolerance = 90.0

    def sail(self, heat):
        """Offsets of all kites from the line of the course, and the moment of each start."""
        drift = torch.randn(KITES, 1, 2, generator=self.generator).to(DEVICE) * 12.0
        weave = torch.rand(KITES, 1, generator=self.generator).to(DEVICE)
        starts = torch.rand(KITES, generator=self.generator) * 4.0
        if heat % 4 == 1:
            starts[heat % KITES] = -0.4
        if heat % 4 == 3:
            drift[heat % KITES] += 300.0
        return drift, weave, starts


class Jury:
    """Rebuilds a heat, and ranks it or throws it out."""

    def __init__(self, course):
        self.course = course
        self.steps = torch.arange(SAMPLES, device=DEVICE, dtype=torch.float32)

    def rebuild(self, drift, weave):
        swing = torch.sin(self.steps[None, :] * 0.02 + weave * 6.28)
        tracks = self.course.line.t()[None] + drift + swing[:, :, None] * 4.0  # grows
        return tracks

    def rank(self, heat):
        drift, weave, starts = self.course.sail(heat)
        tracks = self.rebuild(drift, weave)
        self.check(heat, drift, starts)
        legs = (tracks[:, 1:] - tracks[:, :-1]).norm(dim=2)
        times = legs.sum(dim=1).cpu() / 22.0 + starts
        return int(times.argmin()), float(times.min())

    def check(self, heat, drift, starts):
        early = int(starts.argmin())
        if starts[early] < 0.0:
            raise RuleBreach(heat, "start before the gun", early)
        wide = drift[:, 0].norm(dim=1)
        if float(wide.max()) > self.course.tolerance:
            raise RuleBreach(heat, "mark missed", int(wide.argmax()))


class ProtestDesk:
    """Cases of the day, for the reading at the prize table."""

    def __init__(self):
        self._protests = []

    def file(self, breach):
        self._protests.append(breach)  # keeps

    def __len__(self):
        return len(self._protests)

    def newest(self):
        return str(self._protests[-1]) if self._protests else "none"


def main():
    jury = Jury(Course(seed=14))
    desk = ProtestDesk()
    wins = [0] * KITES
    heat = 0
    started = time.monotonic()
    reported = started
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        try:
            winner, best = jury.rank(heat)
            wins[winner] += 1
        except RuleBreach as breach:
            desk.file(breach)
        heat += 1
        if begun - reported > 3.0:
            reported = begun
            print(f"{heat} heats, best of the last {best:.1f} s, {len(desk)} protests: {desk.newest()}", flush=True)
        time.sleep(max(0.0, 1.0 / HEATS_A_SECOND - (time.monotonic() - begun)))
    champion = max(range(KITES), key=wins.__getitem__)
    print(f"prize for kite {champion} with {wins[champion]} heats of {heat}", flush=True)


if __name__ == "__main__":
    main()
