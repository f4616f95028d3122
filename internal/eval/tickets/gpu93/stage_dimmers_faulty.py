"""The lighting desk of a theatre.

A desk sends a beat to everything that plays on stage. Each cue of the running order renders its fade beforehand
as a stack of light pictures and gives one picture to the stage on every beat; the stage adds the pictures of all
cues up and measures how bright the marks of the actors are.

ticket: practice
class: app-leak
holder: listeners pictures
cause: callbacks-left
"""
import math
import os
import random
import time
from collections import defaultdict

import torch

HEIGHT, WIDTH = 192, 256
BEATS_A_SECOND = 10
BEATS_PER_CUE = 4
MARKS = [(60, 50), (96, 128), (140, 200)]


class Desk:
    """Passes events on to those who have asked for them."""

    def __init__(self):
        self.listeners = defaultdict(list)

    def on(self, event, listener):
        self.listeners[event].append(listener)  # keeps

    def off(self, event, listener):
        self.listeners[event].remove(listener)

    def send(self, event, *values):
        for listener in list(self.listeners[event]):
            listener(*values)


class Stage:
    def __init__(self, desk, device):
        self.light = torch.zeros(HEIGHT, WIDTH, 3, device=device)
        self.gain = 1.0
        self.readings = {mark: 0.0 for mark in MARKS}
        desk.on("master", self.set_gain)

    def set_gain(self, gain):
        self.gain = gain

    def add(self, picture):
        self.light.add_(picture, alpha=self.gain)

    def measure(self):
        for row, column in MARKS:
            patch = self.light[row - 6:row + 6, column - 6:column + 6]
            self.readings[row, column] = 0.8 * self.readings[row, column] + 0.2 * patch.mean().item()


class Cue:
    """A spotlight that moves, opens and closes in the course of its fade."""

    def __init__(self, desk, stage, rng, device):
        self.desk, self.stage = desk, stage
        self.length = rng.randint(8, 16)
        self.place = 0
        self.pictures = self.render(rng, device)  # keeps
        desk.on("beat", self.play)

    def render(self, rng, device):
        rows = torch.arange(HEIGHT, device=device).view(1, -1, 1)
        columns = torch.arange(WIDTH, device=device).view(1, 1, -1)
        time_line = torch.linspace(0, 1, self.length, device=device).view(-1, 1, 1)
        row = rng.uniform(40, 150) + 20 * time_line
        column = rng.uniform(30, 220) + rng.uniform(-60, 60) * time_line
        radius = rng.uniform(18, 34) * (0.6 + 0.4 * torch.sin(math.pi * time_line))
        spot = torch.exp(-((rows - row) ** 2 + (columns - column) ** 2) / radius ** 2)
        fade = torch.sin(math.pi * time_line)
        tint = torch.tensor([rng.uniform(0.4, 1.0) for _ in range(3)], device=device)
        return (spot * fade).unsqueeze(-1) * tint  # grows

    def play(self, beat):
        if self.place >= self.length:
            return
        self.stage.add(self.pictures[self.place])
        self.place += 1
        if self.place == self.length:
            self.desk.send("closed", self.length)


class Report:
    def __init__(self, desk):
        self.closed = 0
        self.beats = 0
        desk.on("closed", self.count)

    def count(self, length):
        self.closed += 1
        self.beats += length

    def line(self, stage):
        marks = " ".join(f"{value:.3f}" for value in stage.readings.values())
        return f"{self.closed} cues closed after {self.beats} beats, marks at {marks}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = random.Random(31)
    desk = Desk()
    stage, report = Stage(desk, device), Report(desk)
    beat, start = 0, time.time()
    while time.time() < end:
        if beat % BEATS_PER_CUE == 0:
            Cue(desk, stage, rng, device)
            desk.send("master", 0.75 + 0.25 * math.sin(beat / 40))
        stage.light.zero_()
        desk.send("beat", beat)
        stage.measure()
        beat += 1
        if beat % 35 == 0:
            print(f"beat {beat}: {report.line(stage)}", flush=True)
        time.sleep(max(0.0, start + beat / BEATS_A_SECOND - time.time()))


if __name__ == "__main__":
    main()
