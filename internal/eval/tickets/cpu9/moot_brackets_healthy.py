"""Moot court season of a law school: knock-out tournaments of pleading teams.

Sixteen teams meet in a bracket.  Two teams plead before a bench of three judges, each speech is a run of
feature vectors (pace, authority cited, answers to the bench), and the judges weigh the speeches by tastes of
their own.  The clerk has a board of the matches that are being pleaded, by round and match, from which the
ushers call the teams.  The winner of a bracket gains rank, and the next tournament is drawn.

    ticket: practice
    class: none
"""
import os
import time
from collections import defaultdict, namedtuple

import numpy as np

TEAMS = 16
MOMENTS = 900
FEATURES = 56
JUDGES = 3
PACE_S = 0.14

Team = namedtuple("Team", "name style strength")
Verdict = namedtuple("Verdict", "tournament round_name winner loser margin")
ROUND_NAMES = {2: "first round", 4: "quarter-final", 8: "semi-final", 16: "final"}


def draw_teams(dice):
    for number in range(TEAMS):
        yield Team(f"team {number + 1}", dice.normal(size=FEATURES), dice.uniform(0.5, 1.5))


class Clerk:
    """The board: which match of which round is before which bench."""

    def __init__(self):
        self.board = defaultdict(dict)
        self.called = 0

    def call(self, round_name, speeches):
        self.called += 1
        entry = {"speeches": speeches, "bench": self.called % 4, "since": time.time()}
        self.board[round_name][self.called] = entry
        return self.called

    def speeches(self, round_name, match):
        return self.board[round_name][match]["speeches"]

    def close(self, round_name, match):
        entry = self.board[round_name].pop(match)
        entry["bench"] = None
        return time.time() - entry["since"]

    def benches_in_use(self):
        return sum(entry["bench"] is not None for matches in self.board.values() for entry in matches.values())


class Tournament:
    def __init__(self, number, clerk, dice):
        self.number = number
        self.clerk = clerk
        self.dice = dice
        self.tastes = dice.normal(size=(JUDGES, FEATURES))

    def plead(self, team):
        """A speech: a drifting style, with pauses where the bench asks."""
        speech = self.dice.standard_normal((MOMENTS, FEATURES))
        speech += team.style * team.strength
        asked = self.dice.integers(0, MOMENTS, 20)
        speech[asked] *= 0.5
        return speech

    def weigh(self, speech):
        marks = speech @ self.tastes.T
        window = marks[: MOMENTS // 30 * 30].reshape(-1, 30, JUDGES).mean(axis=1)
        return np.tanh(window / 8.0).mean(axis=0)

    def match(self, round_name, one, two):
        number = self.clerk.call(round_name, (self.plead(one), self.plead(two)))
        time.sleep(PACE_S)
        first, second = (self.weigh(speech) for speech in self.clerk.speeches(round_name, number))
        votes = int((first > second).sum())
        self.clerk.close(round_name, number)
        winner, loser = (one, two) if votes * 2 > JUDGES else (two, one)
        return Verdict(self.number, round_name, winner, loser, float(np.abs(first - second).mean()))

    def bracket(self, teams):
        """Both halves first, then the match of their winners; yields each verdict."""
        if len(teams) == 1:
            return teams[0]
        half = len(teams) // 2
        one = yield from self.bracket(teams[:half])
        two = yield from self.bracket(teams[half:])
        verdict = self.match(ROUND_NAMES[len(teams)], one, two)
        yield verdict
        return verdict.winner


def season(teams, clerk, dice):
    number = 0
    while True:
        number += 1
        order = dice.permutation(len(teams))
        yield from Tournament(number, clerk, dice).bracket([teams[i] for i in order])


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    dice = np.random.default_rng(17)
    clerk = Clerk()
    cups = defaultdict(int)
    for verdict in season(list(draw_teams(dice)), clerk, dice):
        if verdict.round_name == "final":
            cups[verdict.winner.name] += 1
            print(f"tournament {verdict.tournament}: {verdict.winner.name} beats {verdict.loser.name} by "
                  f"{verdict.margin:.3f}, cups {cups[verdict.winner.name]}, "
                  f"{clerk.benches_in_use()} benches in use", flush=True)
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
