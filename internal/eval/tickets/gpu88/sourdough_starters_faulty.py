"""Follow the sourdough starters of a bakery over a season and rank the jars by how briskly they rise.

Every jar on the shelf has a sensor that notes the height of the starter. The records of the season are replayed here:
with every round a little more of the season has passed, and the curves of all jars are worked out afresh up to that
day, since a late feeding changes what the earlier part of a curve should be measured against. A curve is the height
against the mean of the jar, smoothed over the hours of a feeding. The jar with the highest crest leads the list, and
the baker takes tomorrow's leaven from it.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks
"""
import os
import time

import numpy as np

try:
    import cupy as xp
    xp.cuda.runtime.getDeviceCount()
except Exception:
    xp = np

JARS = 48
SEASON = 96_000
FIRST_DAYS = 24_000
NEW_NOTES = 64
FEEDING = 480
ROUNDS_A_SECOND = 2.5


def to_host(values):
    return values if xp is np else xp.asnumpy(values)


def season_notes(seed):
    """Heights in millimetres, one row a jar, one column for each note of the season."""
    dice = np.random.default_rng(seed)
    when = np.arange(SEASON, dtype=np.float32)
    rows = np.empty((JARS, SEASON), dtype=np.float32)
    for jar in range(JARS):
        vigour = dice.uniform(8.0, 22.0)
        shift = dice.uniform(0.0, FEEDING * 3)
        rise = np.abs(np.sin(np.pi * (when + shift) / (FEEDING * 3)))
        drift = 4.0 * np.sin(when / dice.uniform(9_000, 16_000))
        rows[jar] = 60.0 + vigour * rise + drift
    rows += dice.normal(0.0, 0.6, size=rows.shape).astype(np.float32)
    return rows


class Shelf:
    def __init__(self, notes):
        self.notes = xp.asarray(notes)

    def curves(self, upto):
        """Crest and latest height of every jar, after so many notes of the season."""
        seen = self.notes[:, :upto]
        level = seen.mean(axis=1, keepdims=True)
        against = seen - level  # grows keeps
        total = xp.cumsum(against, axis=1)
        smooth = (total[:, FEEDING:] - total[:, :-FEEDING]) / FEEDING
        crest = smooth.max(axis=1)
        return to_host(crest), to_host(smooth[:, -1])


class Ranking:
    """The list on the door of the cold room."""

    def __init__(self):
        self.leader = None
        self.changes = 0
        self.crest = 0.0

    def take(self, crest, latest):
        lively = crest + 0.1 * np.maximum(latest, 0.0)
        best = int(np.argmax(lively))
        if best != self.leader:
            self.leader = best
            self.changes += 1
        self.crest = float(lively[best])

    def line(self):
        return f"jar {self.leader} leads with {self.crest:.2f} mm, {self.changes} changes at the top"


def main():
    stop = time.time() + float(os.environ.get("SECONDS", "45"))
    print("working on", "the processor" if xp is np else "the device", flush=True)
    shelf = Shelf(season_notes(seed=19))
    ranking = Ranking()

    upto = FIRST_DAYS
    rounds = 0
    due = time.time()
    while time.time() < stop:
        crest, latest = shelf.curves(upto)
        ranking.take(crest, latest)
        rounds += 1
        upto += NEW_NOTES
        if upto > SEASON:
            upto = FIRST_DAYS
        if rounds % 10 == 0:
            print(f"round {rounds}, {upto} notes: {ranking.line()}", flush=True)
        due = max(due + 1.0 / ROUNDS_A_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))
    print(f"season stopped after {rounds} rounds: {ranking.line()}", flush=True)


if __name__ == "__main__":
    main()
