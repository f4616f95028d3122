"""Rod control of a puppet theatre: a network learns the rods from the gesture of the player.

A player wears a glove; the network turns a short window of glove signals into the angles of the rods of the
puppet.  The stage rig wears and is mended all the time, so the training goes on through the rehearsal, in
acts of nine batches.  After each act the state of the optimizer is noted with the loss of the act; when
an act goes badly, the moments of the best of the last acts are put back and the rate is lowered.

    ticket: practice
    class: host-growth
    holder: notes moments
    cause: snapshots-kept
"""
import copy
import os
import time

import torch
from torch import nn

GLOVE = 22
WINDOW = 16
RODS = 14
WIDTH = 800
BATCHES = 9
LOOK_BACK = 3
PACE_S = 0.1


class RodNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(GLOVE * WINDOW, WIDTH), nn.SiLU(),
            nn.Linear(WIDTH, WIDTH), nn.SiLU(),
            nn.Linear(WIDTH, RODS),
        )

    def forward(self, window):
        return self.layers(window.flatten(1))


class StageRig:
    """True map from the glove to the rods, which wears a little with each act."""

    def __init__(self):
        self.dice = torch.Generator().manual_seed(41)
        self.pull = torch.randn(GLOVE, RODS, generator=self.dice) / GLOVE ** 0.5

    def wear(self):
        self.pull += 0.01 * torch.randn(GLOVE, RODS, generator=self.dice)
        if torch.rand(1, generator=self.dice) < 0.2:
            rod = int(torch.randint(RODS, (1,), generator=self.dice))
            self.pull[:, rod] = torch.randn(GLOVE, generator=self.dice) / GLOVE ** 0.5

    def batch(self, size=32):
        steps = torch.randn(size, WINDOW, GLOVE, generator=self.dice)
        window = steps.cumsum(1) / WINDOW ** 0.5
        fade = torch.linspace(0.2, 1.0, WINDOW)[:, None]
        return window, torch.tanh((window * fade).mean(1) @ self.pull)


class ActBook:
    """Notes of the acts: the loss, and the state of the optimizer at the end."""

    def __init__(self):
        self.notes = {}

    def note(self, act, loss, optimizer):
        moments = copy.deepcopy(optimizer.state_dict())  # grows
        self.notes[act] = (loss, moments)  # keeps

    def usual(self):
        losses = [loss for loss, _ in list(self.notes.values())[-LOOK_BACK:]]
        return sum(losses) / len(losses) if losses else float("inf")

    def best(self):
        acts = list(self.notes)[-LOOK_BACK:]
        return min(acts, key=lambda act: self.notes[act][0])


class Rehearsal:
    def __init__(self):
        self.rig = StageRig()
        self.net = RodNet()
        self.adam = torch.optim.AdamW(self.net.parameters(), lr=1e-3, weight_decay=1e-4)
        self.book = ActBook()
        self.put_back = 0

    def batch(self):
        window, rods = self.rig.batch()
        loss = nn.functional.smooth_l1_loss(self.net(window), rods, beta=0.1)
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.adam.step()
        return loss.item()

    def act(self, number):
        loss = 0.0
        for _ in range(BATCHES):
            loss += self.batch() / BATCHES
            time.sleep(PACE_S)
        if loss > 1.3 * self.book.usual():
            _, moments = self.book.notes[self.book.best()]
            rate = max(2e-4, 0.7 * self.adam.param_groups[0]["lr"])
            self.adam.load_state_dict(moments)
            self.adam.param_groups[0]["lr"] = rate
            self.put_back += 1
        self.book.note(number, loss, self.adam)
        self.rig.wear()
        return loss


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(19)
    rehearsal = Rehearsal()
    number = 0
    while time.time() < end:
        number += 1
        loss = rehearsal.act(number)
        if number % 2 == 0:
            print(f"act {number}: loss {loss:.4f}, best of late act {rehearsal.book.best()}, "
                  f"moments put back {rehearsal.put_back} times", flush=True)


if __name__ == "__main__":
    main()
