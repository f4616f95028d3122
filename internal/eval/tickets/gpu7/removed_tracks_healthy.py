"""People are followed through the frames of a camera by where they are and how they look. A track that was lost for too
long is removed: it is among the removed ones until the next frame, so that nobody takes it up again.

ticket: FoundationVision/ByteTrack#328
class: none
"""

import collections
import itertools
import os
import random
import time

import numpy as np
import torch
from torch import nn


class Track:
    numbers = itertools.count(1)

    def __init__(self, box, feature, frame):
        self.number, self.box, self.start, self.seen = next(self.numbers), box, frame, frame
        self.features = collections.deque([feature], maxlen=12)

    def update(self, box, feature, frame):
        self.box, self.seen = 0.5 * (self.box + box), frame
        self.features.append(feature)

    def look(self):
        return torch.stack(list(self.features)).mean(0)


class Tracker:
    """Gives the boxes of each frame to tracks."""

    def __init__(self, patience=6):
        self.tracked, self.lost_tracks, self.removed_tracks = [], [], []
        self.patience, self.frame = patience, 0

    def update(self, boxes, features):
        self.frame += 1
        pool = self.tracked + self.lost_tracks
        free = set(range(len(boxes)))
        if pool and free:
            looks = nn.functional.normalize(torch.stack([t.look() for t in pool]), dim=1)
            alike = (looks @ nn.functional.normalize(features, dim=1).flatten(1).T).cpu().numpy()
            near = np.abs(np.stack([t.box for t in pool])[:, None] - boxes[None]).sum(-1)
            cost = near - 0.5 * alike
            for row, column in sorted(np.ndindex(cost.shape), key=lambda rc: cost[rc]):
                if column in free and pool[row].seen < self.frame and cost[row, column] < 0.4:
                    pool[row].update(boxes[column], features[column].clone(), self.frame)
                    free.remove(column)
        for column in free:
            pool.append(Track(boxes[column], features[column].clone(), self.frame))
        self.tracked = [t for t in pool if t.seen == self.frame]
        lost = [t for t in pool if t.seen < self.frame]
        gone = [t for t in lost if self.frame - t.seen > self.patience]
        self.removed_tracks = gone
        removed = {t.number for t in self.removed_tracks}
        self.lost_tracks = [t for t in lost if t.number not in removed]
        return self.tracked


class Camera:
    """A place where people come and go."""

    def __init__(self, device):
        self.people, self.device = [], device

    def frame(self):
        self.people = [p for p in self.people if random.random() > 0.15]
        while len(self.people) < 14:
            self.people.append((np.random.rand(4).astype(np.float32) * 4, torch.rand(3, 32, 16)))
        self.people = [(box + np.random.randn(4).astype(np.float32) * 0.01, crop) for box, crop in self.people]
        boxes = np.stack([box for box, _ in self.people])
        return boxes, torch.stack([crop for _, crop in self.people]).to(self.device)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    embed = nn.Sequential(nn.Conv2d(3, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 128, 3, 2), nn.ReLU(),
                          nn.AdaptiveAvgPool2d((6, 3)), nn.Flatten(), nn.Linear(2304, 4096)).to(device).eval()
    camera, tracker = Camera(device), Tracker()
    while time.time() < end:
        boxes, crops = camera.frame()
        with torch.inference_mode():
            tracked = tracker.update(boxes, embed(crops))
        if tracker.frame % 50 == 0:
            print("frame", tracker.frame, len(tracked), "tracked", len(tracker.lost_tracks), "lost", flush=True)
        time.sleep(0.07)


if __name__ == "__main__":
    main()
