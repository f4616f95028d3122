"""Counts the gannets that cross a cliff camera's view. The detector's centres come with the recording; each bird that
is met for the first time gets a number and a template of its look, and later frames are matched to it by place and
look. A bird that is missed for a few frames has left the view and is counted.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

HEIGHT, WIDTH, PATCH, PATIENCE, REACH = 240, 320, 32, 3, 24.0


class Colony:
    """The recording: birds fly in from the left and out on the right."""

    def __init__(self):
        self.birds = []

    def frame(self):
        for _ in range(random.randint(2, 4)):
            self.birds.append([0.0, random.uniform(10, HEIGHT - 10), random.uniform(16, 30), torch.rand(3, 1, 1)])
        picture = 0.2 * torch.rand(3, HEIGHT, WIDTH)
        centres = []
        for bird in self.birds:
            bird[0] += bird[2]
            x, y = int(bird[0]), int(bird[1])
            picture[:, max(y - 5, 0) : y + 5, max(x - 8, 0) : x + 8] = bird[3]
            if x < WIDTH and random.random() > 0.03:
                centres.append((bird[0] + random.gauss(0, 1), bird[1] + random.gauss(0, 1)))
        self.birds = [bird for bird in self.birds if bird[0] < WIDTH]
        return picture, centres


class Tracker:
    def __init__(self, look):
        self.look = look
        self.tracks = {}
        self.templates = {}
        self.met = self.counted = 0

    @torch.no_grad()
    def update(self, picture, centres):
        padded = F.pad(picture, (PATCH, PATCH, PATCH, PATCH))
        corners = [(int(x) + PATCH // 2, int(y) + PATCH // 2) for x, y in centres]
        patches = torch.stack([padded[:, top : top + PATCH, left : left + PATCH] for left, top in corners])
        looks = self.look(patches)
        numbers = list(self.tracks)
        alike = self.compare(looks, numbers)
        free = set(range(len(numbers)))
        for row, (x, y) in enumerate(centres):
            best, column = REACH, None
            for candidate in free:
                track = self.tracks[numbers[candidate]]
                far = abs(track["x"] + track["speed"] - x) + 2 * abs(track["y"] - y) - 8 * alike[row][candidate]
                if far < best:
                    best, column = far, candidate
            if column is None:
                self.met += 1
                self.tracks[self.met] = {"x": x, "y": y, "speed": 22.0, "missed": -1}
                self.templates[self.met] = looks[row].clone()
            else:
                free.discard(column)
                track = self.tracks[numbers[column]]
                track.update(x=x, y=y, speed=0.5 * track["speed"] + 0.5 * (x - track["x"]), missed=-1)
                self.templates[numbers[column]].lerp_(looks[row], 0.1)
        self.retire()

    def compare(self, looks, numbers):
        if not numbers:
            return [[] for _ in looks]
        known = torch.stack([self.templates[number] for number in numbers])
        return (F.normalize(looks.flatten(1)) @ F.normalize(known.flatten(1)).T).tolist()

    def retire(self):
        for number, track in list(self.tracks.items()):
            track["missed"] += 1
            track["x"] += track["speed"] if track["missed"] else 0.0
            if track["missed"] > PATIENCE:
                del self.tracks[number], self.templates[number]
                self.counted += 1


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    look = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 32, 3, padding=1), nn.ReLU())
    colony, tracker, frames = Colony(), Tracker(look.to(device).eval()), 0
    for _ in range(15):
        colony.frame()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        picture, centres = colony.frame()
        tracker.update(picture.to(device), centres)
        frames += 1
        if frames % 20 == 0:
            print(f"frame {frames}: {len(tracker.tracks)} in view, {tracker.counted} have left", flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
