"""Timetables for schools, by trying swaps.

A draft of a timetable gives every lesson a weight for each pair of a slot and a room. From a draft, a few others are
made by pressing lessons out of crowded rooms and away from slots in which their teacher already stands before a
class; the best are carried on, for some levels, and at the end one walks back from the best draft to the first to see
which steps helped. One school follows the other through the day, each with its own teachers.

ticket: practice
class: app-leak
holder: offspring forebear slot_weights
cause: reference-cycle
"""
import gc
import os
import time

import torch
import torch.nn.functional as F

LESSONS = 240
SLOTS, ROOMS = 40, 16
TEACHERS = 30
LEVELS = 4
CARRIED = 2
TRIES = 4
SCHOOL_SECONDS = 0.6


class School:
    def __init__(self, number, device):
        self.number = number
        self.device = device
        teacher = torch.randint(0, TEACHERS, (LESSONS,), device=device)
        self.teaches = F.one_hot(teacher, TEACHERS).float().t().contiguous()

    def first_weights(self):
        return torch.randn(LESSONS, SLOTS * ROOMS, device=self.device)

    def pressure(self, weights):
        """How crowded each place is for each lesson, and how bad the draft is as a whole."""
        shares = torch.softmax(weights, dim=1)
        crowd = F.relu(shares.sum(dim=0) - 1.0)
        busy = (self.teaches @ shares).view(TEACHERS, SLOTS, ROOMS).sum(dim=2)
        doubled = F.relu(busy - 1.0)
        by_slot = (self.teaches.t() @ doubled).unsqueeze(2).expand(LESSONS, SLOTS, ROOMS)
        pressure = crowd.unsqueeze(0) + by_slot.reshape(LESSONS, SLOTS * ROOMS)
        undecided = (1.0 - shares.amax(dim=1)).mean()
        return pressure, (crowd.sum() + doubled.sum() + 10.0 * undecided).item()


class Draft:
    """A draft and where it came from."""

    def __init__(self, slot_weights, cost, forebear=None):
        self.slot_weights = slot_weights
        self.cost = cost
        self.forebear = forebear
        self.offspring = []
        if forebear is not None:
            forebear.offspring.append(self)  # keeps

    def gains(self):
        """The gain at every step, from the first draft to this one."""
        steps = []
        draft = self
        while draft.forebear is not None:
            steps.append(draft.forebear.cost - draft.cost)
            draft = draft.forebear
        return steps[::-1]


def try_swaps(school, draft):
    pressure, _ = school.pressure(draft.slot_weights)
    for attempt in range(TRIES):
        strength = 0.5 + 0.5 * attempt
        shaken = draft.slot_weights + 0.3 * torch.randn_like(draft.slot_weights)
        weights = 1.15 * shaken - strength * pressure  # grows
        _, cost = school.pressure(weights)
        Draft(weights, cost, draft)


@torch.no_grad()
def search(school):
    weights = school.first_weights()
    first = Draft(weights, school.pressure(weights)[1])
    level = [first]
    for _ in range(LEVELS):
        for draft in level:
            try_swaps(school, draft)
        made = [child for draft in level for child in draft.offspring]
        level = sorted(made, key=lambda draft: draft.cost)[:CARRIED]
    best = level[0]
    gains = best.gains()
    places = best.slot_weights.argmax(dim=1)
    taken = places.unique().numel()
    return first.cost, best.cost, gains, taken


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(17)
    gc.disable()
    device = "cuda" if torch.cuda.is_available() else "cpu"

    print(f"{LESSONS} lessons, {SLOTS} slots, {ROOMS} rooms, on {device}", flush=True)
    number = 0
    due = time.time()
    while time.time() < deadline:
        number += 1
        school = School(number, device)
        before, after, gains, taken = search(school)
        if number % 5 == 0:
            steps = " ".join(f"{gain:+.2f}" for gain in gains)
            print(f"school {number}: from {before:.2f} to {after:.2f} by {steps}; {taken} places used", flush=True)
        due += SCHOOL_SECONDS
        pause = due - time.time()
        if pause > 0:
            time.sleep(pause)
        else:
            due = time.time()
    print(f"{number} schools have a timetable", flush=True)


if __name__ == "__main__":
    main()
