"""Video reviews of goals at an ice hockey rink.

When a goal is doubtful the camera over the net hands in a short clip, and a reviewer waits beside it for the
referee's word. As soon as the word is there the reviewer measures how far the puck was over the line and files the
figure. The referee rules on most goals, and waives the review where play had already been stopped.

ticket: practice
class: none
"""
import collections
import os
import random
import threading
import time
from dataclasses import dataclass, field

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

FRAMES = 20
HEIGHT, WIDTH = 160, 256
LINE = 150                   # column of the goal line
AT_THE_TABLE = 6
ROUNDS_PER_SECOND = 4


class NetCamera:
    """Clips of the net: noise of the ice with a dark puck that crosses the picture."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.dice = random.Random(seed)
        self.columns = torch.arange(WIDTH, device=DEVICE).view(1, 1, WIDTH)
        self.frames = torch.arange(FRAMES, device=DEVICE).view(FRAMES, 1, 1)

    def clip(self):
        ice = torch.rand(FRAMES, HEIGHT, WIDTH, device=DEVICE, generator=self.generator)
        speed = self.dice.uniform(5.0, 10.0)
        track = (self.columns - 20 - speed * self.frames).abs() < 6
        return ice.masked_fill(track, -1.0)


@dataclass
class Ruling:
    """The word of the referee, for which the reviewer waits."""

    goal: int
    spoken: threading.Event = field(default_factory=threading.Event)
    counts: bool = False


class Protocol:
    """Figures of the reviewed goals."""

    def __init__(self):
        self.lock = threading.Lock()
        self.overshoot = collections.deque(maxlen=50)
        self.given = 0
        self.denied = 0

    def file(self, ruling, overshoot):
        with self.lock:
            self.overshoot.append(overshoot)
            if ruling.counts:
                self.given += 1
            else:
                self.denied += 1

    def mean_overshoot(self):
        with self.lock:
            return sum(self.overshoot) / max(1, len(self.overshoot))


def puck_column(clip):
    """Column of the puck in the last frames, by the darkest columns."""
    profile = clip[-4:].mean((0, 1))
    return int(profile.argmin())


def review(clip, ruling, protocol):
    """Wait for the referee, then measure."""
    ruling.spoken.wait()
    protocol.file(ruling, puck_column(clip) - LINE)


class ReviewTable:
    """Goals whose review is open, in the order in which they fell."""

    def __init__(self, camera, protocol, seed):
        self.camera = camera
        self.protocol = protocol
        self.referee = random.Random(seed)
        self.open = collections.deque()
        self.goals = 0
        self.waived = 0

    def goal(self):
        self.goals += 1
        ruling = Ruling(self.goals)
        clip = self.camera.clip()
        threading.Thread(target=review, args=(clip, ruling, self.protocol), daemon=True).start()
        self.open.append(ruling)

    def rule(self):
        """The referee speaks on the oldest open goal."""
        ruling = self.open.popleft()
        if self.referee.random() < 0.45:
            self.waived += 1
        ruling.counts = self.referee.random() < 0.7
        ruling.spoken.set()

    def turn(self):
        self.goal()
        if len(self.open) > AT_THE_TABLE:
            self.rule()


def main():
    protocol = Protocol()
    table = ReviewTable(NetCamera(seed=3), protocol, seed=4)
    begin = time.monotonic()
    next_print = begin + 3.0
    while time.monotonic() - begin < SECONDS:
        started = time.monotonic()
        table.turn()
        if started >= next_print:
            print(f"goals {table.goals}  given {protocol.given}  denied {protocol.denied}  "
                  f"over the line {protocol.mean_overshoot():.1f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"final whistle: {table.goals} goals, {protocol.given} given, {table.waived} waived", flush=True)


if __name__ == "__main__":
    main()
