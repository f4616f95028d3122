"""Work out the light on a theatre's stage for every moment of a show and send it to the lighting desk.

Forty-eight lamps hang over the stage, each with a place, a colour and a spread. For every moment of the show the
lamps' levels are blended from one cue to the next, the light that falls on a grid over the floor is added up, and
the plot goes as a pickled message down a socket to the desk, which shows it to the operator. A thread stands in for
the desk here: it reads what comes and counts it.

ticket: practice
class: none
"""
import os
import pickle
import socket
import threading
import time

import torch

LAMPS = 48
DEEP, WIDE = 192, 256
MOMENTS_PER_CUE = 60


class Stage:
    def __init__(self, device):
        self.device = device
        y = torch.linspace(0.0, 9.0, DEEP, device=device)
        x = torch.linspace(-6.0, 6.0, WIDE, device=device)
        floor_y, floor_x = torch.meshgrid(y, x, indexing="ij")
        place_x = torch.linspace(-5.5, 5.5, LAMPS, device=device)
        place_y = torch.rand(LAMPS, device=device) * 9.0
        height = 5.0 + torch.rand(LAMPS, device=device) * 2.0
        across = floor_x[None] - place_x[:, None, None]
        along = floor_y[None] - place_y[:, None, None]
        square = across ** 2 + along ** 2 + height[:, None, None] ** 2
        cosine = height[:, None, None] / square.sqrt()
        self.reach = (cosine ** 9 / square).reshape(LAMPS, DEEP * WIDE)
        self.colour = torch.rand(LAMPS, 3, device=device)

    def light(self, levels):
        plot = (self.colour * levels[:, None]).T @ self.reach
        plot = plot / (plot.max() + 1e-6)
        return plot.reshape(3, DEEP, WIDE)


class Show:
    """The cues of the show, and the blend from one to the next."""

    def __init__(self, device):
        self.device = device
        self.before = torch.zeros(LAMPS, device=device)
        self.after = torch.rand(LAMPS, device=device)
        self.cue = 1
        self.moment = 0

    def step(self):
        self.moment += 1
        if self.moment == MOMENTS_PER_CUE:
            self.moment = 0
            self.cue += 1
            self.before = self.after
            self.after = torch.rand(LAMPS, device=self.device) * (torch.rand(LAMPS, device=self.device) > 0.4)
        share = self.moment / MOMENTS_PER_CUE
        return self.before * (1.0 - share) + self.after * share


class DeskLink:
    """Our end of the line to the lighting desk."""

    def __init__(self, line):
        self.line = line
        self.stream = line.makefile("wb")
        self.pickler = pickle.Pickler(self.stream, protocol=5)

    def send(self, message):
        self.pickler.dump(message)
        self.pickler.clear_memo()
        self.stream.flush()

    def hang_up(self):
        self.stream.close()
        self.line.close()


class Desk(threading.Thread):
    def __init__(self, line):
        super().__init__(daemon=True)
        self.line = line
        self.received = 0

    def run(self):
        while True:
            part = self.line.recv(1 << 18)
            if not part:
                return
            self.received += len(part)


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(23)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    stage = Stage(device)
    show = Show(device)
    ours, theirs = socket.socketpair()
    desk = Desk(theirs)
    desk.start()
    link = DeskLink(ours)
    sent = 0
    while time.time() < until:
        levels = show.step()
        plot = stage.light(levels).cpu().numpy()
        link.send({"cue": show.cue, "moment": show.moment, "levels": levels.tolist(), "plot": plot})
        sent += 1
        if sent % 90 == 0:
            print(f"cue {show.cue}, moment {show.moment}: {sent} plots sent, mean light {plot.mean():.3f}, "
                  f"the desk has {desk.received / 1e6:.0f} MB", flush=True)
        time.sleep(0.04)
    link.hang_up()
    desk.join(timeout=5.0)


if __name__ == "__main__":
    main()
