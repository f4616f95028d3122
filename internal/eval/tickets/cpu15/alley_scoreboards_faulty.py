"""
A bowling alley has a camera over each pin deck and a scoreboard above each pair of lanes. In the first
twelve seconds of the evening guests bowl for practice and only the falls of the pins are counted. Then
the league begins: each ball gets a replay, drawn on the scoreboard while the ball's result
is announced.

ticket: practice
class: host-growth
holder: viewers
cause: callbacks-left
"""
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
LEAGUE_STARTS = 12.0
LANES = 12
PINS = 10
CLIP = (16, 128, 64)


class PinDeck:
    """Simulates the fall of the pins and the pictures of the camera."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.skill = self.rng.uniform(0.55, 0.85, size=LANES)
        self.background = self.rng.random((LANES, 1, CLIP[1] * 4, CLIP[2] * 8), dtype=np.float32)

    def roll(self, lane, standing):
        hits = self.rng.random(PINS) < self.skill[lane]
        return standing & ~hits

    def film(self, lane):
        row, column = self.rng.integers(0, 128, size=2)
        view = self.background[lane, :, row:row + CLIP[1], column:column + CLIP[2]]
        path = np.linspace(0.0, 1.0, CLIP[0], dtype=np.float32)[:, None, None]
        return view + path  # grows


class Announcer:
    """Tells every viewer the result of a ball."""

    def __init__(self):
        self.viewers = []
        self.announced = 0

    def attach(self, viewer):
        self.viewers.append(viewer)  # keeps

    def detach(self, viewer):
        self.viewers.remove(viewer)

    def announce(self, ball, fallen):
        self.announced += 1
        for viewer in list(self.viewers):
            viewer(ball, fallen)


class Replay:
    """The clip of one ball, shown with the caption of its result."""

    def __init__(self, ball, lane, clip):
        self.ball = ball
        self.lane = lane
        self.clip = clip
        self.caption = ""

    def show(self, ball, fallen):
        if ball != self.ball:
            return
        speed = float(np.abs(self.clip[-1] - self.clip[0]).mean())
        self.caption = "strike" if fallen == PINS else f"{fallen} pins at {speed:.1f}"


class Scoreboard:
    def __init__(self, announcer):
        self.totals = np.zeros(LANES, dtype=np.int64)
        self.last_ball = -1
        announcer.attach(self.count)

    def count(self, ball, fallen):
        self.totals[ball % LANES] += fallen
        self.last_ball = ball

    def leader(self):
        return int(self.totals.argmax())


class Alley:
    def __init__(self, seed=19):
        self.deck = PinDeck(seed)
        self.announcer = Announcer()
        self.scoreboard = Scoreboard(self.announcer)
        self.ball = 0
        self.caption = "practice"

    def bowl(self):
        lane = self.ball % LANES
        standing = self.deck.roll(lane, np.ones(PINS, dtype=bool))
        return lane, PINS - int(standing.sum())

    def practice_ball(self):
        _, fallen = self.bowl()
        self.announcer.announce(self.ball, fallen)
        self.ball += 1

    def league_ball(self):
        lane, fallen = self.bowl()
        replay = Replay(self.ball, lane, self.deck.film(lane))
        self.announcer.attach(replay.show)  # keeps
        self.announcer.announce(self.ball, fallen)
        self.caption = replay.caption
        self.ball += 1


def main():
    alley = Alley()
    start = time.monotonic()
    next_line = start + 2.0
    while True:
        now = time.monotonic()
        if now - start >= SECONDS:
            break
        if now - start < LEAGUE_STARTS:
            alley.practice_ball()
        else:
            alley.league_ball()
        if now >= next_line:
            next_line += 3.0
            lane = alley.scoreboard.leader() + 1
            print(f"{now - start:6.1f} s  ball {alley.ball}  lane {lane} leads  {alley.caption}", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"{alley.ball} balls, best total {int(alley.scoreboard.totals.max())}", flush=True)


if __name__ == "__main__":
    main()
