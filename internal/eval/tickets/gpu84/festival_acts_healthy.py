"""Sound desk of an open-air festival with one stage and many short acts.

A shared listener network turns frames of the stage microphones into features and goes on learning
all day.  Each act brings its own instruments, so it gets a tone head of its own, which learns
during the act how the act's sound ought to be equalised in 512 bands.  When the act bows out, the
next one walks on with a fresh head; the desk prints how close the equalisation came in the end.

ticket: practice
class: none
"""
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
BANDS = 512
FEATURES = 512
INNER = 1024
FRAMES = 64
STEPS_PER_ACT = 6


class ToneHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.widen = nn.Linear(FEATURES, INNER)
        self.bands = nn.Linear(INNER, BANDS)

    def forward(self, features):
        return self.bands(F.silu(self.widen(features)))


class Act:
    """A band on stage: a timbre, and the gains its sound engineer would like to hear."""

    def __init__(self, number, dice):
        self.name = f"act {number}"
        self.timbre = torch.rand(BANDS, generator=dice)
        self.wanted = 0.5 * torch.randn(BANDS, generator=dice)
        self.dice = dice

    def frames(self):
        loud = torch.rand(FRAMES, 1, generator=self.dice)
        noise = 0.1 * torch.randn(FRAMES, BANDS, generator=self.dice)
        spectrum = loud * self.timbre + noise
        return spectrum.to(DEVICE), (self.wanted * loud).to(DEVICE)


class SoundDesk:
    def __init__(self):
        self.listener = nn.Sequential(nn.Linear(BANDS, FEATURES), nn.SiLU(),
                                      nn.Linear(FEATURES, FEATURES), nn.SiLU()).to(DEVICE)
        self.head = None
        self.act = None
        self.optimizer = torch.optim.Adam(self.listener.parameters(), lr=2e-4)

    def walk_on(self, act):
        self.act = act
        self.head = ToneHead().to(DEVICE)
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 2e-3})

    def step(self):
        spectrum, wanted = self.act.frames()
        gains = self.head(self.listener(spectrum))
        loss = F.mse_loss(gains, wanted)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.head.parameters(), 5.0)
        self.optimizer.step()
        return loss.item()

    def bow_out(self):
        """The act's equalisation, as the lighting crew and the recording van want it."""
        self.head.eval()
        with torch.no_grad():
            spectrum, wanted = self.act.frames()
            gains = self.head(self.listener(spectrum)).mean(dim=0)
            off = (gains - wanted.mean(dim=0)).abs().mean()
        self.forget_head()
        return off.item(), gains.argmax().item()

    def forget_head(self):
        for group in self.optimizer.param_groups[1:]:
            for parameter in group["params"]:
                self.optimizer.state.pop(parameter, None)
        del self.optimizer.param_groups[1:]
        self.head = None


def play_act(desk, act):
    desk.walk_on(act)
    first = last = None
    for _ in range(STEPS_PER_ACT):
        last = desk.step()
        first = last if first is None else first
        time.sleep(0.08)
    off, band = desk.bow_out()
    return first, last, off, band


def main():
    curfew = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(69)
    dice = torch.Generator().manual_seed(16)
    desk = SoundDesk()
    number = 0
    while time.time() < curfew:
        number += 1
        first, last, off, band = play_act(desk, Act(number, dice))
        if number % 8 == 0:
            print(f"{desk.act.name}: loss {first:.4f} to {last:.4f}, off by {off:.3f}, "
                  f"loudest band {band}", flush=True)
    print(f"curfew after {number} acts", flush=True)


if __name__ == "__main__":
    main()
