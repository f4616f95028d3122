"""A simultaneous evening at a chess club.

The master walks from board to board.  At each stop the club's computer gets a position to look at in
the background: it rolls out games with random play and gives back a map of the squares that mattered.
The master picks up what is ready; a second helper reads the same answers for the bulletin a little later.

ticket: practice
class: none
"""
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
STOPS_PER_SECOND = 9
BOARDS = 24
BULLETIN_S = 3.0
ROLLOUTS = 96


class Finding:
    """What the computer found in one position."""

    def __init__(self, board, heat, value):
        self.board = board
        self.heat = heat
        self.value = value


class Look:
    """A position handed to the computer, with the time at which the answer was ready."""

    def __init__(self, board, future):
        self.board = board
        self.future = future
        self.done_at = None
        self.picked_up = False


def roll_out(board, position, seed):
    """Random play from a position: a map of visited squares for each game."""
    rng = np.random.default_rng(seed)
    heat = np.repeat(position[None, :, :], ROLLOUTS, axis=0)
    for _ in range(6):
        heat += rng.standard_normal(heat.shape, dtype=np.float32) * 0.1
        np.clip(heat, -6.0, 6.0, out=heat)
    return Finding(board, heat, float(heat.sum(axis=(1, 2)).mean()))


class Computer:
    """One worker thread and the looks that it was asked for."""

    def __init__(self):
        self.pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rollout")
        self._looks = []
        self.asked = 0

    def ask(self, board, position):
        self.asked += 1
        future = self.pool.submit(roll_out, board, position, self.asked)
        self._looks.append(Look(board, future))

    def ready(self):
        """Findings that nobody has picked up yet."""
        found = []
        for look in self._looks:
            if look.future.done() and not look.picked_up:
                look.picked_up = True
                found.append(look.future.result())
        return found

    def latest(self, board):
        for look in reversed(self._looks):
            if look.board == board and look.picked_up:
                return look.future.result()
        return None

    def tidy(self, now):
        """Strike off the looks that the bulletin has had time to read."""
        for look in self._looks:
            if look.future.done() and look.done_at is None:
                look.done_at = now
        self._looks = [look for look in self._looks if look.done_at is None or now - look.done_at <= BULLETIN_S]

    def close(self):
        self.pool.shutdown(wait=True, cancel_futures=True)


class Simul:
    """The boards of the evening and the master's opinion of them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.positions = self.rng.normal(0.0, 1.0, (BOARDS, 64, 16)).astype(np.float32)
        self.opinion = np.zeros(BOARDS)
        self.turn = 0

    def next_board(self):
        self.turn += 1
        return self.turn % BOARDS

    def play(self, board):
        row = int(self.rng.integers(64))
        self.positions[board, row] = self.rng.normal(0.0, 1.0, 16)
        return self.positions[board].copy()

    def learn(self, finding):
        self.opinion[finding.board] = 0.7 * self.opinion[finding.board] + 0.3 * finding.value


def main():
    simul, computer = Simul(1851), Computer()
    start = time.monotonic()
    told, bulletin = start, 0.0
    while (now := time.monotonic()) - start < SECONDS:
        board = simul.next_board()
        computer.ask(board, simul.play(board))
        for finding in computer.ready():
            simul.learn(finding)
        earlier = computer.latest((board - 5) % BOARDS)
        if earlier is not None:
            bulletin = float(earlier.heat[0].max())
        computer.tidy(now)
        if now - told >= 3.0:
            told = now
            best = int(simul.opinion.argmax())
            print(f"{now - start:6.1f} s  stops {simul.turn:5d}  best board {best:2d} ({simul.opinion[best]:+7.2f})  "
                  f"bulletin {bulletin:5.2f}", flush=True)
        time.sleep(max(0.0, 1.0 / STOPS_PER_SECOND - (time.monotonic() - now)))
    computer.close()
    print(f"evening over: {simul.turn} stops, {computer.asked} looks", flush=True)


if __name__ == "__main__":
    main()
