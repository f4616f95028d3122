"""Opening explorer of a chess club.

Members step through gambit lines on the club's screens; for every position shown, a policy network rates the replies
in sixty-four sampled continuations. Ratings are shared between the screens for nine seconds after they were made,
since the members of a study group look at the same positions; the initial position is on show the whole evening.

    ticket: practice
    class: app-leak
    holder: _ratings
    cause: cache-without-bound
"""
import math
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STEPS_PER_SECOND = 12
SHARE_SECONDS = 9.0
CONTINUATIONS = 64
PLANES = 256
MOVES = 2048
SCREENS = 5
INITIAL = "initial"


@dataclass
class Rating:
    policy: torch.Tensor
    deadline: float
    asked: int = 0


class PolicyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.board = nn.Linear(PLANES, 96)
        self.moves = nn.Linear(96, MOVES)

    def forward(self, planes):
        return torch.log_softmax(self.moves(torch.relu(self.board(planes))), dim=-1)


class RatingShelf:
    """Ratings by position; each has a deadline, those which have passed it are taken from the shelf."""

    def __init__(self, share_seconds):
        self.share_seconds = share_seconds
        self.hits = 0
        self.misses = 0
        self._ratings = {}

    def pin(self, position, policy):
        self._ratings[position] = Rating(policy, math.inf)

    def get(self, position, now):
        rating = self._ratings.get(position)
        if rating is None or rating.deadline <= now:
            self.misses += 1
            return None
        self.hits += 1
        rating.asked += 1
        return rating.policy

    def put(self, position, policy, now):
        self._ratings[position] = Rating(policy, now + self.share_seconds)  # keeps

    def sweep(self, now):
        passed = []
        for position, rating in self._ratings.items():
            if rating.deadline > now:
                break
            passed.append(position)
        for position in passed:
            del self._ratings[position]


class Explorer:
    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.net = PolicyNet().to(DEVICE).eval()
        self.shelf = RatingShelf(SHARE_SECONDS)
        self.shelf.pin(INITIAL, self.rate())

    def rate(self):
        planes = torch.rand(CONTINUATIONS, PLANES, generator=self.generator, device=DEVICE)
        with torch.no_grad():
            return self.net(planes)  # grows

    def look(self, position, now):
        policy = self.shelf.get(position, now)
        if policy is None:
            policy = self.rate()
            self.shelf.put(position, policy, now)
        return int(policy[0].argmax())


class StudyGroup:
    """The members at the screens: one leads down a line, the others look at what was just shown."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.line = []
        self.shown = []
        self.evening = 0

    def lead(self):
        if len(self.line) >= 14 or not self.line:
            self.evening += 1
            self.line = [f"line{self.evening}"]
        self.line.append(str(self.dice.randrange(30)))
        position = "/".join(self.line)
        self.shown = (self.shown + [position])[-SCREENS:]
        return position

    def follow(self):
        return INITIAL if self.dice.random() < 0.2 else self.dice.choice(self.shown)


def run_evening(seconds):
    torch.manual_seed(6201)
    explorer = Explorer(seed=6202)
    group = StudyGroup(seed=6203)
    started = time.monotonic()
    step = 0
    while time.monotonic() - started < seconds:
        now = time.monotonic() - started
        explorer.shelf.sweep(now)
        best = explorer.look(group.lead(), now)
        for _ in range(2):
            explorer.look(group.follow(), now)
        step += 1
        if step % (3 * STEPS_PER_SECOND) == 0:
            shelf = explorer.shelf
            print(f"step {step}: reply {best}, shared {shelf.hits}, rated {shelf.misses}", flush=True)
        time.sleep(max(0.0, started + step / STEPS_PER_SECOND - time.monotonic()))
    return step, explorer.shelf


def main():
    torch.set_num_threads(1)
    steps, shelf = run_evening(float(os.environ.get("SECONDS", "120")))
    print(f"lights out after {steps} steps, {shelf.hits} ratings shared", flush=True)


if __name__ == "__main__":
    main()
