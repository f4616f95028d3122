"""In a museum visitors may look at a relic from all sides on touch screens. The relic turns slowly; whenever it has
turned, it tells that to all who asked for it, and the screens of the visitors draw it anew, with their own light and
zoom, into their own pictures. Visitors come and go, some look for a while and some for a moment.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch

POINTS, ROWS, COLUMNS, SCREENS = 60_000, 480, 640, 4


class Relic:
    """Points on the outside of a vase, which turns."""

    def __init__(self, device):
        height = torch.rand(POINTS, device=device) * 2 - 1
        around = torch.rand(POINTS, device=device) * 2 * math.pi
        wide = 0.5 + 0.2 * torch.sin(3 * height) + 0.02 * torch.sin(14 * around)
        self.points = torch.stack([wide * torch.cos(around), height, wide * torch.sin(around)], 1)
        self.colours = torch.stack([0.6 + 0.3 * torch.sin(9 * height), 0.4 + 0.2 * torch.cos(5 * around),
                                    0.3 + 0.1 * height], 1).clamp(0, 1)
        self.angle, self.listeners = 0.0, []

    def on_turn(self, listener):
        self.listeners.append(listener)

    def forget(self, listener):
        self.listeners.remove(listener)

    def turn(self, by):
        self.angle += by
        for listener in list(self.listeners):
            listener(self.angle)


class Screen:
    """The picture that one visitor sees."""

    def __init__(self, device, light, zoom):
        self.light, self.zoom, self.open = light, zoom, True
        self.picture = torch.zeros(ROWS * COLUMNS, 3, device=device)

    def draw(self, points, colours, angle):
        turn = torch.tensor([[math.cos(angle), 0, math.sin(angle)], [0, 1, 0], [-math.sin(angle), 0, math.cos(angle)]],
                            device=points.device)
        seen = points @ turn.T
        row = ((seen[:, 1] * self.zoom + 1) / 2 * (ROWS - 1)).round().long().clamp(0, ROWS - 1)
        column = ((seen[:, 0] * self.zoom + 1) / 2 * (COLUMNS - 1)).round().long().clamp(0, COLUMNS - 1)
        bright = (0.4 + self.light * seen[:, 2:]).clamp(0, 1)
        self.picture.mul_(0.3).index_copy_(0, row * COLUMNS + column, colours * bright)


def visit(relic, device):
    """Opens a screen for a visitor, which is drawn again with every turn."""
    screen = Screen(device, random.uniform(0.4, 1.2), random.uniform(0.6, 0.9))

    def turned(angle):
        if screen.open:
            screen.draw(relic.points, relic.colours, angle)

    relic.on_turn(turned)
    return screen, turned


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    relic, screens, visitors = Relic(device), [], 0
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    while time.time() < end:
        if len(screens) < SCREENS:
            screens.append(visit(relic, device))
            visitors += 1
        relic.turn(random.uniform(0.02, 0.1))
        for visitor in [visitor for visitor in screens if random.random() < 0.1]:
            screen, turned = visitor
            screen.open = False
            relic.forget(turned)
            screens.remove(visitor)
            del visitor, screen, turned
        if time.time() - said > 2 and screens:
            said = time.time()
            light = screens[0][0].picture.mean().item()
            print(visitors, "visitors so far, angle", round(relic.angle, 2), "light", round(light, 4), flush=True)
        time.sleep(random.uniform(0.03, 0.2))


if __name__ == "__main__":
    main()
