"""Reads the number plates of trams as they enter the depot. Each tram that passes is a session of some reads, and the
plate that is read most often counts. The tracks have memory pools of their own, so that the pieces of one do not lie
scattered between those of another.

ticket: practice
class: none
"""

import os
import random
import time
from collections import Counter
from contextlib import nullcontext

import torch
from torch import nn

SIGNS = "-0123456789ABCDEFGHKLMNPRSTUVXZ"
HEIGHT, WIDTH, CROPS, TRACKS = 32, 192, 8, 2


class PlateReader(nn.Module):
    """Convolutions along the plate, then a recurrent layer, then a sign for each column."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d((4, 2)))
        self.along = nn.GRU(32 * HEIGHT // 8, 64, batch_first=True, bidirectional=True)
        self.sign = nn.Linear(128, len(SIGNS))

    def forward(self, crops):
        columns = self.look(crops).flatten(1, 2).transpose(1, 2)
        return self.sign(self.along(columns)[0])


def plate(best):
    """The signs without repeats and blanks."""
    kept = [sign for sign, before in zip(best, [0] + best) if sign != before and sign != 0]
    return "".join(SIGNS[sign] for sign in kept)


class Depot:
    def __init__(self, device):
        self.device, self.pools = device, {}
        self.model = PlateReader().to(device).eval()

    def memory(self, session):
        """Sends what is allocated to the pool of the track."""
        if self.device == "cpu":
            return nullcontext()
        track = session % TRACKS
        if track not in self.pools:
            self.pools[track] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[track])

    @torch.inference_mode()
    def read(self, session, crops):
        """What the crops of one moment say."""
        with self.memory(session):
            crops = crops.to(self.device)
            crops = (crops - crops.mean((2, 3), keepdim=True)) / crops.std((2, 3), keepdim=True)
            best = self.model(crops).argmax(-1).tolist()
        return [plate(one) for one in best]


def crops_of(pattern):
    """Crops of a plate; the light changes from one to the next."""
    light = 0.5 + torch.rand(CROPS, 1, 1, 1)
    return light * pattern + 0.1 * torch.randn(CROPS, 1, HEIGHT, WIDTH)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    depot, session = Depot(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pattern, votes = (torch.rand(1, 1, HEIGHT, WIDTH) < 0.5).float(), Counter()
        for _ in range(random.randint(5, 8)):
            votes.update(depot.read(session, crops_of(pattern)))
            time.sleep(random.uniform(0.1, 0.25))
        text, count = votes.most_common(1)[0]
        session += 1
        if session % 3 == 0:
            print(f"tram {session} on track {session % TRACKS}: {text[:10]} ({count} votes)", flush=True)


if __name__ == "__main__":
    main()
