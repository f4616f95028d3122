"""People who walk past a shop window are followed from picture to picture: a network makes a vector of what each of
them looks like, and who looks the same is the same. Each clip is gone through by a tracker of its own, which begins
without anybody unless it is given tracks to go on with; but the empty list that it begins with is one and the same
each time.

ticket: practice
class: app-leak
holder: tracks __defaults__
cause: buffer-without-bound results-kept
"""

import os
import random
import time

import torch
from torch import nn

HEIGHT, WIDTH, KEPT = 192, 96, 8


class Looks(nn.Module):
    """A vector of unit length of what somebody looks like."""

    def __init__(self, length=64):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 7, stride=4, padding=3, bias=False), nn.Tanh(),
                                  nn.Conv2d(16, 32, 3, stride=2, bias=False), nn.Tanh(), nn.Flatten(),
                                  nn.Linear(32 * 23 * 11, length, bias=False))

    def forward(self, crops):
        return nn.functional.normalize(self.body(2 * crops - 1), dim=1)


class Passer:
    """Somebody who walks past for a while, in clothes of some colours."""

    def __init__(self, now, device):
        self.device, self.gone = device, now + random.uniform(0.5, 2.0)
        self.clothes = nn.functional.interpolate(torch.rand(1, 3, 6, 3, device=device), (HEIGHT, WIDTH))[0]

    def seen(self):
        return self.clothes * random.uniform(0.8, 1.1) + 0.05 * torch.randn_like(self.clothes)


class Track:
    """Somebody who is followed: mean looks, and some pictures for the file."""

    def __init__(self, looks, crop, now):
        self.looks, self.since, self.last, self.crops = looks, now, now, [crop]

    def update(self, looks, crop, now):
        self.looks = nn.functional.normalize(0.9 * self.looks + 0.1 * looks, dim=0)
        self.last = now
        if len(self.crops) < KEPT:
            self.crops.append(crop)
        elif random.random() < 0.2:
            self.crops[random.randrange(KEPT)] = crop


class Tracker:
    def __init__(self, looks, tracks=[], near=0.7, patience=1.0):
        self.looks, self.tracks, self.near, self.patience = looks, tracks, near, patience
        self.started = 0

    @torch.inference_mode()
    def look(self, crops, now):
        """Takes in the people of one picture."""
        vectors = self.looks(crops)
        followed = [track for track in self.tracks if now - track.last < self.patience]
        alike = vectors @ torch.stack([track.looks for track in followed]).T if followed else None
        for number, (vector, crop) in enumerate(zip(vectors, crops)):
            best = int(alike[number].argmax()) if followed else 0
            if followed and float(alike[number, best]) > self.near:
                followed[best].update(vector, crop.clone(), now)  # grows
            else:
                self.tracks.append(Track(vector, crop.clone(), now))  # keeps
                self.started += 1


def clip(tracker, end, device):
    """Goes through one clip, of some seconds; gives how many pictures it had."""
    passers, pictures, last = [], 0, time.time() + random.uniform(2, 4)
    while time.time() < min(last, end):
        now = time.time()
        passers = [passer for passer in passers if passer.gone > now]
        while len(passers) < 4 and random.random() < 0.6 or not passers:
            passers.append(Passer(now, device))
        tracker.look(torch.stack([passer.seen() for passer in passers]), now)
        pictures += 1
        time.sleep(random.uniform(0.03, 0.09))
    return pictures


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device, clips = "cuda" if torch.cuda.is_available() else "cpu", 0
    looks = Looks().to(device).eval()
    while time.time() < end:
        tracker = Tracker(looks)
        pictures = clip(tracker, end, device)
        clips += 1
        print("clip", clips, "pictures", pictures, "tracks", tracker.started, flush=True)


if __name__ == "__main__":
    main()
