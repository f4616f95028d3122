"""Open workshop of a puppet theatre: visitors learn to walk a marionette.

Visitors come all day, take a free place at the rail and hold a control bar whose strings are tracked by
sensors.  A visitor has a few turns, each turn is compared with the walk of a puppeteer, and the trainer
shows the visitor which string was late.  After the last turn the visitor gives the place to the next one.
The day is played through as a queue of events, at the pace of the clock.

    ticket: practice
    class: none
"""
import heapq
import os
import time
from collections import Counter, deque

import numpy as np

STRINGS = 11
FRAMES = 4096
PLACES = 8
TURNS = 4
TURN_S = 0.3
ARRIVAL_S = 0.21


class Pupil:
    __slots__ = ("number", "place", "skill", "turn", "traces", "marks")

    def __init__(self, number, place, skill):
        self.number = number
        self.place = place
        self.skill = skill
        self.turn = 0
        self.traces = np.full((TURNS, FRAMES, STRINGS), np.nan)
        self.marks = []

    def take_turn(self, walk, dice):
        lag = int(dice.integers(0, 40) * (1.0 - self.skill))
        shake = dice.standard_normal((FRAMES, STRINGS)) * 0.3 * (1.0 - self.skill)
        trace = self.traces[self.turn]
        np.add(np.roll(walk, lag, axis=0), shake, out=trace)
        self.turn += 1
        return trace


def puppeteer_walk():
    """Lift of each string over the frames of a walk across the stage."""
    phase = np.linspace(0.0, 24.0 * np.pi, FRAMES)[:, None]
    offset = np.linspace(0.0, 2.0 * np.pi, STRINGS, endpoint=False)
    return np.sin(phase + offset) + 0.3 * np.sin(2.0 * phase + 1.7 * offset)


class Trainer:
    def __init__(self):
        self.walk = puppeteer_walk()
        self.norm = np.sqrt((self.walk ** 2).sum(axis=0))
        self.late = Counter()

    def mark(self, trace):
        """Likeness to the puppeteer, and the string that is worst."""
        likeness = (trace * self.walk).sum(axis=0) / (self.norm * np.sqrt((trace ** 2).sum(axis=0)))
        self.late[int(likeness.argmin())] += 1
        return float(likeness.mean())


class Workshop:
    def __init__(self, seed):
        self.dice = np.random.default_rng(seed)
        self.trainer = Trainer()
        self.places = list(range(PLACES))
        self.pupils = {}
        self.finals = deque(maxlen=30)
        self.turned_away = 0
        self.events = []
        self.serial = 0

    def plan(self, moment, what, number=None):
        self.serial += 1
        heapq.heappush(self.events, (moment, self.serial, what, number))

    def arrive(self, moment, _):
        self.plan(moment + ARRIVAL_S, self.arrive)
        if not self.places:
            self.turned_away += 1
            return
        pupil = Pupil(self.serial, self.places.pop(), self.dice.uniform(0.1, 0.7))
        self.pupils[pupil.number] = pupil
        self.plan(moment + TURN_S, self.turn, pupil.number)

    def turn(self, moment, number):
        pupil = self.pupils[number]
        trace = pupil.take_turn(self.trainer.walk, self.dice)
        pupil.marks.append(self.trainer.mark(trace))
        pupil.skill = min(0.95, pupil.skill + 0.1)
        after = self.turn if pupil.turn < TURNS else self.leave
        self.plan(moment + TURN_S, after, number)

    def leave(self, moment, number):
        pupil = self.pupils.pop(number)
        self.finals.append(pupil.marks[-1] - pupil.marks[0])
        self.places.append(pupil.place)

    def report(self, moment, _):
        self.plan(moment + 2.5, self.report)
        gain = np.mean(self.finals) if self.finals else 0.0
        print(f"{PLACES - len(self.places)} places taken, {self.turned_away} turned away, mean gain {gain:.3f}, "
              f"late strings {self.trainer.late.most_common(2)}", flush=True)

    def run(self, end):
        start = time.time()
        self.plan(start, self.arrive)
        self.plan(start + 2.0, self.report)
        while self.events and self.events[0][0] < end:
            moment, _, what, number = heapq.heappop(self.events)
            time.sleep(max(0.0, moment - time.time()))
            what(moment, number)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    Workshop(13).run(end)


if __name__ == "__main__":
    main()
