"""Lake camera for those who watch swans from afar.

A camera over a swan lake gives frames in which the white birds stand out against the water. Viewers join for
a short while, and for each of them the swans are set off against a background of the viewer's own, at the pace
of the viewer's line. The last frames are held ready for those who want to look back.

ticket: practice
class: app-leak
holder: _viewers
cause: sessions-kept
"""
import os
import random
import time
from collections import OrderedDict

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
SIDE = 512
VIEW = 362
LOOK_BACK = 48
SWANS = 14


class LakeCamera:
    """Frames of the lake: ripples, and swans as bright spots that swim about."""

    def __init__(self, seed):
        self._random = torch.Generator().manual_seed(seed)
        self._places = torch.rand(SWANS, 2, generator=self._random) * SIDE
        self._axis = torch.arange(SIDE, device=DEVICE).float()
        self.number = 0

    def take(self):
        self.number += 1
        self._places += 2.0 * torch.randn(SWANS, 2, generator=self._random)
        self._places %= SIDE
        places = self._places.to(DEVICE)
        rows = torch.exp(-((self._axis - places[:, :1]) ** 2) / 60.0)
        columns = torch.exp(-((self._axis - places[:, 1:]) ** 2) / 60.0)
        ripples = 0.1 * torch.sin(self._axis / 9.0 + self.number)
        return rows.T @ columns + ripples


class Viewer:
    """One viewer: a corner of the lake, a background and what the eye was led to."""

    def __init__(self, number, corner, rounds):
        self.number = number
        self.row, self.column = corner
        self.rounds_left = rounds
        self.watching = True
        self.background = torch.zeros(VIEW, VIEW, device=DEVICE)  # grows
        self.sightings = 0

    def look(self, frame):
        part = frame[self.row:self.row + VIEW, self.column:self.column + VIEW]
        self.background.lerp_(part, 0.2)
        self.sightings += int(((part - self.background) > 0.5).any().item())
        self.rounds_left -= 1


class WatchService:
    """Frames to look back at, and the viewers who have joined."""

    def __init__(self, seed):
        self._chance = random.Random(seed)
        self._frames = OrderedDict()
        self._viewers = {}
        self.joined = 0
        self.watching = 0
        self.sightings = 0

    def publish(self, number, frame):
        self._frames[number] = frame
        while len(self._frames) > LOOK_BACK:
            self._frames.popitem(last=False)

    def join(self):
        self.joined += 1
        corner = self._chance.randrange(SIDE - VIEW), self._chance.randrange(SIDE - VIEW)
        viewer = Viewer(self.joined, corner, self._chance.randint(6, 18))
        self._viewers[viewer.number] = viewer  # keeps
        self.watching += 1

    def leave(self, viewer):
        viewer.watching = False
        self.watching -= 1
        self.sightings += viewer.sightings

    def serve(self, frame):
        present = [viewer for viewer in self._viewers.values() if viewer.watching]
        for viewer in present:
            viewer.look(frame)
            if viewer.rounds_left == 0:
                self.leave(viewer)

    def look_back(self):
        """How much the lake has changed since the oldest frame at hand."""
        oldest, newest = next(iter(self._frames.values())), next(reversed(self._frames.values()))
        return (newest - oldest).abs().mean().item()


def main():
    torch.set_num_threads(1)
    camera = LakeCamera(seed=61)
    service = WatchService(seed=62)
    end = time.monotonic() + SECONDS
    due = time.monotonic()
    rounds = 0
    while time.monotonic() < end:
        if rounds % 2 == 0:
            frame = camera.take()
            service.publish(camera.number, frame)
        service.join()
        service.serve(frame)
        rounds += 1
        if rounds % 24 == 0:
            print(f"frame {camera.number}: {service.watching} viewers, {service.sightings} sightings, "
                  f"change {service.look_back():.3f}", flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"camera off: {service.joined} viewers, {service.sightings} sightings", flush=True)


if __name__ == "__main__":
    main()
