"""Opening preparation of a chess club for its league match.

Members ask the club's analysis board about lines of their repertoire.  A line is turned into planes
of the position, and a shallow evaluation gives a map of good squares.  Members often ask again for a
line within a few seconds, so that answers are held for a while; each new evening brings new lines.

ticket: practice
class: none
"""
import heapq
import os
import time
from collections import deque

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
LIFETIME_S = 9.0
PLANES = 64
MOVES = ("e4", "d4", "c4", "Nf3", "e5", "d5", "c5", "Nf6", "Nc6", "Bb5", "Bc4", "g3", "Bg2", "O-O", "a6", "h3")
MEMBERS = ("Adele", "Bruno", "Clara", "Dmitri", "Esther", "Ferenc")


class Entry:
    """An answer of the analysis board, good until its deadline."""
    __slots__ = ("deadline", "squares", "score")

    def __init__(self, deadline, squares, score):
        self.deadline = deadline
        self.squares = squares
        self.score = score


class AnswerStore:
    """Answers by line; an entry goes when its deadline is past, unless it was renewed."""

    def __init__(self, lifetime):
        self.lifetime = lifetime
        self._entries = {}
        self._deadlines = []
        self.hits = 0
        self.misses = 0

    def get(self, line, now):
        entry = self._entries.get(line)
        if entry is None or entry.deadline < now:
            self.misses += 1
            return None
        self.hits += 1
        return entry

    def put(self, line, squares, score, now):
        self.sweep(now)
        entry = Entry(now + self.lifetime, squares, score)
        self._entries[line] = entry
        heapq.heappush(self._deadlines, (entry.deadline, line))
        return entry

    def sweep(self, now):
        while self._deadlines and self._deadlines[0][0] < now:
            due, line = heapq.heappop(self._deadlines)
            entry = self._entries.get(line)
            if entry is not None and entry.deadline <= due:
                del self._entries[line]


class AnalysisBoard:
    """A shallow evaluation with fixed random weights."""

    def __init__(self, rng):
        self.mixing = rng.standard_normal((PLANES, PLANES)).astype(np.float32) / 8.0
        self.letters = rng.standard_normal((len(MOVES), PLANES, 64)).astype(np.float32)

    def squares(self, line):
        planes = np.zeros((PLANES, 64), dtype=np.float32)
        for ply, move in enumerate(line):
            planes = 0.9 * np.roll(planes, ply, axis=1) + self.letters[MOVES.index(move)]
        hidden = np.tanh(self.mixing @ planes)
        return np.einsum("pi,pj->pij", hidden[:16], hidden[16:32])

    def evaluate(self, line):
        squares = self.squares(line)
        return squares, float(squares.mean() * 100.0)


class Member:
    """A club member with a memory for the last few lines of interest."""

    def __init__(self, name, rng):
        self.name = name
        self.rng = rng
        self.recent = deque(maxlen=6)

    def ask(self):
        if self.recent and self.rng.random() < 0.4:
            return self.recent[int(self.rng.integers(len(self.recent)))]
        line = tuple(MOVES[i] for i in self.rng.integers(0, len(MOVES), size=10))
        self.recent.append(line)
        return line


def main():
    rng = np.random.default_rng(1886)
    board = AnalysisBoard(rng)
    store = AnswerStore(LIFETIME_S)
    members = [Member(name, np.random.default_rng(50 + i)) for i, name in enumerate(MEMBERS)]
    start = time.monotonic()
    told, asked, best = start, 0, ("", -1e9)
    while (now := time.monotonic()) - start < SECONDS:
        for member in members[asked % 2::2]:
            line = member.ask()
            entry = store.get(line, now)
            if entry is None:
                squares, score = board.evaluate(line)
                entry = store.put(line, squares, score, now)
            asked += 1
            if entry.score > best[1]:
                best = (" ".join(line[:4]), entry.score)
        if now - told >= 3.0:
            told = now
            print(f"{now - start:6.1f} s  asked {asked:5d}  hits {store.hits:5d}  misses {store.misses:5d}  "
                  f"best {best[0]} ({best[1]:+.2f})", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"preparation done: {asked} questions, best line {best[0]}", flush=True)


if __name__ == "__main__":
    main()
