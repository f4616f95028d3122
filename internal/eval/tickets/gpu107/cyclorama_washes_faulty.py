"""Colour washes on the cyclorama of an opera stage.

The cue board of the house sends out fades and blackouts, and the scene that is on stage answers them with the
light on its backcloth. Each scene brings a wash of its own: a picture of red, green and blue levels over the
cloth, mixed from the lamps of the batten. The desk measures how even the cloth looks after each fade and prints
the result for the lighting designer.

ticket: practice
class: app-leak
holder: _listeners
cause: callbacks-left
"""

import math
import os
import random
import time
from collections import defaultdict

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 10
ROUNDS_A_SCENE = 5
CLOTH = (448, 576)
LAMPS = 9


class CueBoard:
    """Passes each cue on to whoever has asked for its topic."""

    def __init__(self):
        self._listeners = defaultdict(list)
        self.sent = 0

    def listen(self, topic, listener):
        self._listeners[topic].append(listener)  # keeps

    def leave(self, topic, listener):
        self._listeners[topic].remove(listener)

    def send(self, topic, level):
        self.sent += 1
        for listener in list(self._listeners[topic]):
            listener(level)


class Batten:
    """The lamps above the cloth; each one throws a soft oval of light."""

    def __init__(self, lamps, cloth):
        height, width = cloth
        y = torch.linspace(0.0, 1.0, height, device=DEVICE).unsqueeze(1)
        x = torch.linspace(0.0, 1.0, width, device=DEVICE).unsqueeze(0)
        throws = []
        for number in range(lamps):
            centre = (number + 0.5) / lamps
            throws.append(torch.exp(-((x - centre) ** 2) * 24.0 - (y - 0.2) ** 2 * 2.5))
        self.throws = torch.stack(throws).reshape(lamps, -1)
        self.cloth = cloth

    def mix(self, gels):
        return (gels @ self.throws).reshape(3, *self.cloth)  # grows


class Scene:
    """One scene of the evening with the wash on its backcloth."""

    def __init__(self, title, board, batten, gels):
        self.title = title
        self.board = board
        self.wash = batten.mix(gels)
        self.level = 0.0
        self.lit = False
        self.blackouts = 0

    def open(self):
        self.lit = True
        self.board.listen("fade", self.on_fade)
        self.board.listen("blackout", self.on_blackout)

    def strike(self):
        self.lit = False
        self.board.leave("fade", self.on_fade)

    def on_fade(self, level):
        self.level += 0.5 * (level - self.level)

    def on_blackout(self, _level):
        if not self.lit:
            return
        self.level = 0.0
        self.blackouts += 1

    def evenness(self):
        """Ratio of the dim parts of the cloth to its mean, 1.0 for a flat wash."""
        luminance = (self.wash * self.level).mean(dim=0)
        columns = luminance.mean(dim=0)
        return float(columns.min() / columns.mean().clamp_min(1e-6))


class Evening:
    """Runs through the scenes, one after another."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.board = CueBoard()
        self.batten = Batten(LAMPS, CLOTH)
        self.scenes_shown = 0
        self.scene = self.next_scene()

    def next_scene(self):
        self.scenes_shown += 1
        gels = torch.tensor([[self.dice.uniform(0.1, 1.0) for _ in range(LAMPS)] for _ in range(3)], device=DEVICE)
        scene = Scene(f"scene {self.scenes_shown}", self.board, self.batten, gels)
        scene.open()
        return scene

    def play(self, round_number):
        if round_number and round_number % ROUNDS_A_SCENE == 0:
            self.scene.strike()
            self.scene = self.next_scene()
        if round_number % 17 == 0:
            self.board.send("blackout", 0.0)
        self.board.send("fade", 0.6 + 0.4 * math.sin(round_number / 4.0))
        return self.scene.evenness()


def main():
    evening = Evening(seed=1791)
    start = time.monotonic()
    round_number = 0
    while time.monotonic() - start < SECONDS:
        evenness = evening.play(round_number)
        round_number += 1
        if round_number % 25 == 0:
            print(f"{evening.scene.title}: evenness {evenness:.3f}, {evening.board.sent} cues", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"curtain after {evening.scenes_shown} scenes", flush=True)


if __name__ == "__main__":
    main()
