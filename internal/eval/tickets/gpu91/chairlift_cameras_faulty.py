"""Empty chairs, full chairs and skiers who ride with the bar up: the cameras of a ski resort's chairlifts.

Twelve cameras look at the chairs of three lifts. Each has a feed, a small worker that writes the camera's pictures
into eight slots, one after the other, whenever the control room asks for the next. The network looks at the slot and
sorts what is on the chair. The cameras talk by radio, and on a mountain radio drops out: a camera that was away
comes back with a new feed, and its old one is closed.

ticket: practice
class: host-growth
holder: slots pull _target
cause: threads-left
"""
import os
import queue
import threading
import time
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CAMERAS = 12
SLOTS = 8
HIGH, WIDE = 192, 256
BEAT = 0.1
DROPS = 3  # a radio drops out after so many pictures of the whole resort
SIGHTS = ("empty", "one rider", "two riders", "bar up", "ski lost")


class Feed:
    """The pictures of one camera for as long as its radio holds."""

    def __init__(self, camera, ready):
        self.camera = camera
        self.ready = ready
        self.rng = np.random.default_rng(camera)
        self.slots = self.rng.random((SLOTS, 3, HIGH, WIDE), dtype=np.float32)  # grows
        self.asked = threading.Event()
        self.open = True
        self.worker = threading.Thread(target=self.pull, name=f"camera {camera}", daemon=True)
        self.worker.start()  # keeps

    def pull(self):
        slot = 0
        while self.open:
            self.asked.wait()
            self.asked.clear()
            if not self.open:
                break
            self.rng.random(out=self.slots[slot], dtype=np.float32)
            self.ready.put((self.camera, self.slots[slot]))
            slot = (slot + 1) % SLOTS

    def ask(self):
        self.asked.set()

    def close(self):
        self.open = False


class Watcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 7, stride=4, padding=3)
        self.second = nn.Conv2d(16, 32, 5, stride=4, padding=2)
        self.out = nn.Linear(32, len(SIGHTS))

    def forward(self, pictures):
        x = F.relu(self.first(pictures))
        x = F.relu(self.second(x))
        return self.out(x.mean((2, 3)))


class ControlRoom:
    def __init__(self):
        self.ready = queue.Queue()
        self.feeds = {camera: Feed(camera, self.ready) for camera in range(CAMERAS)}
        self.watcher = Watcher().to(DEVICE).eval()
        self.seen = Counter()
        self.returns = 0

    def reconnect(self, camera):
        self.feeds[camera].close()
        self.feeds[camera] = Feed(camera, self.ready)
        self.returns += 1

    @torch.no_grad()
    def look(self):
        for feed in self.feeds.values():
            feed.ask()
        pictures = torch.empty(CAMERAS, 3, HIGH, WIDE)
        for place in range(CAMERAS):
            camera, picture = self.ready.get(timeout=20)
            pictures[place] = torch.from_numpy(picture)
        sights = self.watcher(pictures.to(DEVICE)).argmax(1).tolist()
        self.seen.update(SIGHTS[sight] for sight in sights)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(14)
    room = ControlRoom()
    rounds = 0
    while time.time() < end:
        began = time.time()
        room.look()
        rounds += 1
        if rounds % DROPS == 0:
            room.reconnect((rounds // DROPS * 5) % CAMERAS)
        if rounds % 40 == 0:
            told = ", ".join(f"{name} {count}" for name, count in room.seen.most_common(3))
            print(f"round {rounds}: {told}; cameras came back {room.returns} times", flush=True)
        time.sleep(max(0.0, BEAT - (time.time() - began)))
    print(f"lifts stand still after {rounds} rounds", flush=True)


if __name__ == "__main__":
    main()
