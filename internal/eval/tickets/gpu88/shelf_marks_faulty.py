"""Read the shelf marks on the spines of library books and feed the readings to the catalogue.

A trolley with a camera drives along the stacks of a library at night. Strips cut from the pictures, one a spine, are
read by a network that gives for every step along the strip the odds of each character. The plain reading goes into
the figures of the night. The odds themselves go out to the catalogue as well, one record after another down a single
long feed, since the catalogue weighs them against the marks that may stand on that shelf at all. Where no feed is
named in SHELF_FEED, the records go to the null device.

ticket: practice
class: host-growth
holder: outgoing
cause: pickler-memo-kept
"""
import os
import pickle
import time
from collections import Counter

import torch
from torch import nn

CHARACTERS = " 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.-/"
CLASSES = 64
STRIPS = 96
STEPS = 64
HEIGHT = 32
TROLLEY_STOPS_A_SECOND = 8.0


class MarkReader(nn.Module):
    """Odds of every character class at every step along a strip."""

    def __init__(self):
        super().__init__()
        self.see = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=(2, 1), padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=(2, 1), padding=1), nn.ReLU(),
        )
        self.along = nn.GRU(32 * HEIGHT // 8, 96, batch_first=True, bidirectional=True)
        self.name = nn.Linear(192, CLASSES)

    def forward(self, strips):
        seen = self.see(strips)
        steps = seen.permute(0, 3, 1, 2).flatten(2)
        return self.name(self.along(steps)[0]).log_softmax(dim=2)


class Trolley:
    """The camera in the aisle: strips with bars where the characters would be."""

    def __init__(self, device):
        self.device = device
        self.random = torch.Generator(device=device).manual_seed(77)

    def strips(self):
        bars = torch.rand(STRIPS, 1, 1, STEPS // 4, generator=self.random, device=self.device)
        bars = bars.repeat_interleave(8, dim=3).expand(-1, -1, HEIGHT, -1)
        return bars + 0.1 * torch.randn(bars.shape, generator=self.random, device=self.device)


class CatalogueFeed:
    """Sends the records of the night down one long stream."""

    def __init__(self, path):
        self.stream = open(path, "wb", buffering=0)
        self.outgoing = pickle.Pickler(self.stream, protocol=5)
        self.sent = 0

    def send(self, stop, readings, odds):
        record = {"stop": stop, "readings": readings, "odds": odds}
        self.outgoing.dump(record)  # keeps
        self.sent += 1

    def close(self):
        self.stream.close()


def plain(best):
    """The usual way from best classes to text: one of each run, without the blank."""
    text = []
    before = 0
    for one in best:
        if one != before and 0 < one < len(CHARACTERS):
            text.append(CHARACTERS[one])
        before = one
    return "".join(text)


@torch.no_grad()
def read_strips(net, strips):
    scores = net(strips)
    readings = [plain(best) for best in scores.argmax(dim=2).tolist()]
    return readings, scores.cpu().numpy()  # grows


def main():
    finish = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(21)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net, trolley = MarkReader().to(device).eval(), Trolley(device)
    feed = CatalogueFeed(os.environ.get("SHELF_FEED", os.devnull))

    lengths = Counter()
    stop = 0
    due = time.time()
    while time.time() < finish:
        stop += 1
        readings, odds = read_strips(net, trolley.strips())
        lengths.update(min(len(reading), 12) for reading in readings)
        feed.send(stop, readings, odds)
        if stop % 40 == 0:
            usual, times = lengths.most_common(1)[0]
            print(f"stop {stop}: {stop * STRIPS} spines, {feed.sent} records sent, {times} marks of {usual} "
                  f"characters", flush=True)
        due = max(due + 1.0 / TROLLEY_STOPS_A_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))
    feed.close()
    print(f"trolley parked after {stop} stops", flush=True)


if __name__ == "__main__":
    main()
