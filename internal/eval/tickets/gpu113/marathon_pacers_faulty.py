"""Virtual pacers for a city marathon.

Runners who have bought the pacing service connect with their watch for a stretch of the course. For each of them the
service keeps an ensemble of possible paces, moves it along the elevation profile and nudges it with the measured
speed. The advice that goes back to the watch is the pace at which most of the ensemble still reaches its target.

ticket: practice
class: app-leak
holder: _sessions
cause: sessions-kept
"""
import os
import random
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
JOIN_EVERY = 4
STRETCH_ROUNDS = 24
ENSEMBLE = 65536
COURSE_CELLS = 42195

torch.set_num_threads(1)


class Course:
    """Elevation, wind and surface of the course, one cell for each metre."""

    def __init__(self, generator):
        layers = 128
        steps = torch.randn(layers, COURSE_CELLS, generator=generator, device=DEVICE)
        self.layers = steps.cumsum_(dim=1).mul_(0.02)
        self.weights = torch.softmax(torch.randn(layers, generator=generator, device=DEVICE), dim=0)

    def slope_at(self, metre):
        first = max(0, int(metre) - 25)
        last = min(COURSE_CELLS - 1, int(metre) + 25)
        rise = self.layers[:, last] - self.layers[:, first]
        return float((rise * self.weights).sum()) / (last - first)


class PacingSession:
    """One runner's connection for one stretch of the course."""

    def __init__(self, bib, metre, target, generator):
        self.bib = bib
        self.metre = metre
        self.target = target
        self.rounds_left = STRETCH_ROUNDS
        self.closed = False
        self.paces = torch.empty(ENSEMBLE, device=DEVICE)  # grows
        self.paces.normal_(target, 0.3, generator=generator)

    def advance(self, slope, measured):
        effort = 1.0 - 3.0 * slope
        self.paces.mul_(effort).lerp_(torch.full_like(self.paces, measured), 0.05)
        self.paces.clamp_(1.5, 6.5)
        self.metre = (self.metre + measured / ROUNDS_PER_SECOND * 20) % COURSE_CELLS
        self.rounds_left -= 1

    def advice(self):
        return float(torch.quantile(self.paces[:4096], 0.4))

    def close(self):
        self.closed = True
        return self.advice() - self.target


class PacingDesk:
    """Accepts watches, moves their ensembles and sends the advice back."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE)
        self.generator.manual_seed(seed)
        self.course = Course(self.generator)
        self._sessions = set()
        self.next_bib = 1
        self.served = 0
        self.deviation = 0.0

    def connect(self):
        start = self.rng.uniform(0, COURSE_CELLS - 1)
        session = PacingSession(self.next_bib, start, self.rng.uniform(2.6, 4.8), self.generator)
        self._sessions.add(session)  # keeps
        self.next_bib += 1
        return session

    def disconnect(self, session):
        error = session.close()
        self.served += 1
        self.deviation += 0.1 * (abs(error) - self.deviation)

    def round(self):
        finished = []
        for session in self._sessions:
            if session.closed:
                continue
            measured = self.rng.gauss(session.target, 0.2)
            session.advance(self.course.slope_at(session.metre), measured)
            if session.rounds_left == 0:
                finished.append(session)
        for session in finished:
            self.disconnect(session)


def main():
    desk = PacingDesk(seed=42)
    started = time.monotonic()
    next_report = started + 3.0
    rounds = 0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        if rounds % JOIN_EVERY == 0:
            desk.connect()
        desk.round()
        rounds += 1
        if began >= next_report:
            print(
                f"round {rounds:4d}  watches served {desk.served:4d}  "
                f"mean deviation {desk.deviation:.3f} m/s",
                flush=True,
            )
            next_report += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"course closed after {rounds} rounds, {desk.served} watches served", flush=True)


if __name__ == "__main__":
    main()
