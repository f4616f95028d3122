"""Holds the tasting notes of a vintage against a panel of reference wines while the notes come in.

Tasters send notes in lots of 256.  A small net turns the words of a note into sixty-four flavour values and learns
from the marks that the tasters give.  After each lot the notes of the whole vintage so far are held against the 2048
wines of the panel: for every panel wine the program asks which note of the vintage comes closest and how the wine
agrees with the notes on the whole.  Between two lots the net is trained a little.  It prints how many notes there are,
the training loss and the panel wine that the vintage resembles most.

ticket: practice
class: none
"""
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

PANEL = 2048
WORDS = 512
FLAVOURS = 64
LOT = 256
START = 4608
CAPACITY = 16384


class NoteNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(WORDS, 128), nn.ReLU(), nn.Linear(128, FLAVOURS))
        self.mark = nn.Linear(FLAVOURS, 1)

    def forward(self, words):
        return F.normalize(self.body(words), dim=1)


class Tasters:
    """Lots of notes as bags of words, with marks that hang together with some of the words."""

    def __init__(self, device):
        self.device = device
        self.liking = torch.randn(WORDS, 1, device=device) / WORDS ** 0.5

    def lot(self):
        words = (torch.rand(LOT, WORDS, device=self.device) < 0.06).float()
        return words, words @ self.liking + 0.1 * torch.randn(LOT, 1, device=self.device)


class Vintage:
    def __init__(self, panel, device):
        self.panel = panel
        self.notes = torch.zeros(CAPACITY, FLAVOURS, device=device)
        self.notes[:START] = F.normalize(torch.randn(START, FLAVOURS, device=device), dim=1)
        self.agreement = torch.empty(PANEL, CAPACITY, device=device)
        self.count = START

    def add(self, flavours):
        if self.count + LOT > CAPACITY:
            self.count = START
        self.notes[self.count:self.count + LOT] = flavours
        self.count += LOT

    def compare(self):
        torch.mm(self.panel, self.notes.T, out=self.agreement)
        agreement = self.agreement[:, :self.count]
        closeness, closest = agreement.max(dim=1)
        overall = agreement.mean(dim=1)
        wine = int((closeness + overall).argmax())
        return wine, int(closest[wine]), closeness[wine].item()


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

    def step(self, words, marks):
        loss = F.mse_loss(self.net.mark(self.net(words)), marks)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(31)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = NoteNet().to(device)
    trainer = Trainer(net)
    tasters = Tasters(device)
    vintage = Vintage(F.normalize(torch.randn(PANEL, FLAVOURS, device=device), dim=1), device)
    lots = 0
    spoken = time.time()
    while time.time() < deadline:
        words, marks = tasters.lot()
        with torch.no_grad():
            vintage.add(net(words))
            wine, note, closeness = vintage.compare()
        lots += 1
        for _ in range(13):
            loss = trainer.step(words, marks)
            time.sleep(0.14)
            if time.time() >= deadline:
                break
        if time.time() - spoken > 2.5:
            print(f"{vintage.count} notes: loss {loss:.3f}, most like panel wine {wine} "
                  f"(note {note}, {closeness:.3f})", flush=True)
            spoken = time.time()
    print(f"tasting over after {lots} lots", flush=True)


if __name__ == "__main__":
    main()
