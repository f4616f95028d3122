"""Grades the fruit crates that are carried into a wholesale market's hall.

A camera above the gate takes a picture of each crate. A small convolutional
network says how ripe the fruit is; then the picture is evened out and the
weight estimated from it is held against the weight on the label, and the
number of bruises against what the class of goods allows. A crate that fails
is turned away with a note for the carrier. At times the porters are told how
many crates came in and for which reasons the others did not.

ticket: practice
class: host-growth
holder: refusals
cause: exception-kept
"""
import collections
import os
import time

import numpy as np
import torch
from torch import nn

SIDE = 320
RIPENESS = ["green", "turning", "ripe", "over"]


class CrateRefused(Exception):
    """A crate that may not come into the hall."""

    def __init__(self, crate, reason):
        super().__init__(f"crate {crate}: {reason}")
        self.reason = reason


class RipenessNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, len(RIPENESS)))

    def forward(self, pictures):
        return self.layers(pictures)


class Gate:
    """The camera's pictures, and the labels of the crates."""

    def __init__(self, seed):
        self.source = np.random.default_rng(seed)

    def crate(self):
        picture = self.source.random((3, SIDE, SIDE), dtype=np.float32)
        picture *= np.float32(self.source.uniform(0.4, 1.0))
        weight = float(picture.mean()) * 24.0
        label = weight * float(self.source.uniform(0.75, 1.25))
        return picture, label


class Hall:
    """Decides which crates come in."""

    def __init__(self, device):
        self.device = device
        self.net = RipenessNet().to(device).eval()
        self.admitted = collections.Counter()
        self.refusals = []

    @torch.no_grad()
    def ripeness(self, picture):
        scores = self.net(torch.from_numpy(picture).unsqueeze(0).to(self.device))
        return RIPENESS[int(scores.argmax())]

    def examine(self, crate, picture, label):
        even = (picture - picture.mean()) / (picture.std() + 1e-6)  # grows
        estimate = float(picture.mean()) * 24.0
        if abs(estimate - label) > 0.15 * label:
            raise CrateRefused(crate, "weight")
        bruises = int((even.max(axis=0) < -0.9).sum())
        if bruises > 1440:
            raise CrateRefused(crate, "bruises")
        return bruises

    def carry_in(self, crate, picture, label):
        ripe = self.ripeness(picture)
        try:
            self.examine(crate, picture, label)
        except CrateRefused as refusal:
            self.refusals.append(refusal)  # keeps
            return False
        self.admitted[ripe] += 1
        return True

    def notice(self):
        reasons = collections.Counter(refusal.reason for refusal in self.refusals)
        return f"{sum(self.admitted.values())} crates in, turned away {dict(reasons)}"

    def last_note(self):
        return str(self.refusals[-1]) if self.refusals else "none yet"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(97)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gate = Gate(seed=13)
    hall = Hall(device)
    crate = 0
    due = time.time()
    while time.time() < end:
        due = max(due + 0.05, time.time())
        picture, label = gate.crate()
        hall.carry_in(crate, picture, label)
        crate += 1
        if crate % 50 == 0:
            print(f"{hall.notice()}; last: {hall.last_note()}", flush=True)
        time.sleep(max(0.0, due - time.time()))
    print(f"gate shut after {crate} crates; {hall.notice()}", flush=True)


if __name__ == "__main__":
    main()
