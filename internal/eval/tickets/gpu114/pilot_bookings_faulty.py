"""Harbour pilots: the booking service of a pilot station.

Ships call in groups with the tide; each call opens a session that cuts a window out of the depth chart and
looks for the deepest line through it. A pilot then boards and the ship is brought in, or the agent calls the
passage off. Between the groups the service rests.

ticket: practice
class: app-leak
holder: live
cause: sessions-kept
"""
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CHART = (2048, 4096)
WINDOW = (512, 1024)
CALLS_A_SECOND = 10
CALLS_IN_GROUP = 22
PILOTS = 6


class PassageSession:
    """One ship's passage from the call to the berth."""

    def __init__(self, number, draught, window):
        self.number = number
        self.draught = draught
        self.window = window
        self.pilot = None
        self.state = "open"

    def clearance(self):
        """Water under the keel along the best line, column by column."""
        deepest = self.window.amax(dim=0)
        return float(deepest.min()) - self.draught


class DepthChart:
    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.depths = 9.0 + torch.rand(CHART, device=DEVICE, generator=generator).mul_(8.0)

    def window(self, row, column, tide):
        part = self.depths[row:row + WINDOW[0], column:column + WINDOW[1]]
        return part + tide  # grows


class PilotStation:
    """Opens sessions, assigns pilots and closes sessions again."""

    def __init__(self, chart, rng):
        self.chart = chart
        self.rng = rng
        self.live = set()
        self.free_pilots = list(range(PILOTS))
        self.calls = 0
        self.boarded = 0
        self.called_off = 0

    def open(self, tide):
        self.calls += 1
        row = self.rng.randrange(CHART[0] - WINDOW[0])
        column = self.rng.randrange(CHART[1] - WINDOW[1])
        window = self.chart.window(row, column, tide)
        session = PassageSession(self.calls, self.rng.uniform(6.0, 12.0), window)
        self.live.add(session)  # keeps
        session.pilot = self.free_pilots.pop()
        return session

    def board(self, session):
        session.state = "boarded"
        self.boarded += 1
        self.free_pilots.append(session.pilot)
        self.live.discard(session)

    def call_off(self, session):
        session.state = "called off"
        self.called_off += 1
        self.free_pilots.append(session.pilot)
        session.pilot = None

    def handle(self, tide):
        session = self.open(tide)
        margin = session.clearance()
        if margin > 0.0 and self.rng.random() < 0.5:
            self.board(session)
        else:
            self.call_off(session)
        return margin

    def waiting(self):
        return sum(1 for session in self.live if session.state == "open")


def tide_of(elapsed):
    phase = (elapsed % 24.0) / 24.0
    return 2.0 - 4.0 * abs(phase - 0.5)


def serve_group(station, start):
    worst = float("inf")
    due = time.monotonic()
    for _ in range(CALLS_IN_GROUP):
        elapsed = time.monotonic() - start
        if elapsed >= SECONDS:
            break
        worst = min(worst, station.handle(tide_of(elapsed)))
        due += 1.0 / CALLS_A_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    return worst


def main():
    torch.set_num_threads(1)
    rng = random.Random(118)
    station = PilotStation(DepthChart(5), rng)
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        worst = serve_group(station, start)
        print(f"{station.calls} calls, {station.boarded} boarded, {station.called_off} called off, "
              f"{station.waiting()} waiting, least clearance {worst:.2f} m", flush=True)
        rest = rng.uniform(2.0, 5.0)
        time.sleep(max(0.0, min(rest, SECONDS - (time.monotonic() - start))))
    print(f"station closed after {station.calls} calls", flush=True)


if __name__ == "__main__":
    main()
