"""Pictures are sorted by a small network; batches come to the device ahead of time, on a stream of their own which is
the same in all epochs, so that the memory of an epoch is used again in the next.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time

import torch
from torch import nn

SIDE = torch.cuda.Stream() if torch.cuda.is_available() else None


class Prefetcher:
    """Gives the batches of one epoch; the next is on its way while one is used."""

    def __init__(self, pictures, labels, order, device):
        self.pictures, self.labels, self.device = pictures, labels, device
        self.rest = iter(order)
        self.stream = SIDE
        self.mean = torch.tensor([124.0, 117.0, 104.0], device=device).view(1, 3, 1, 1)
        self.preload()

    def side(self):
        return torch.cuda.stream(self.stream) if self.stream else contextlib.nullcontext()

    def preload(self):
        rows = next(self.rest, None)
        if rows is None:
            self.ahead = None
            return
        pictures, labels = self.pictures[rows], self.labels[rows]
        if self.stream:
            pictures, labels = pictures.pin_memory(), labels.pin_memory()
            self.stream.wait_stream(torch.cuda.current_stream())
        with self.side():
            pictures = pictures.to(self.device, non_blocking=True)
            pictures = pictures.float().sub_(self.mean).div_(58)
            self.ahead = pictures, labels.to(self.device, non_blocking=True)

    def __iter__(self):
        while self.ahead is not None:
            pictures, labels = self.ahead
            if self.stream:
                torch.cuda.current_stream().wait_stream(self.stream)
                pictures.record_stream(torch.cuda.current_stream())
                labels.record_stream(torch.cuda.current_stream())
            self.preload()
            yield pictures, labels


def dataset(amount=320, size=160):
    """Pictures with a brighter half, told by the label."""
    labels = torch.randint(0, 4, (amount,))
    pictures = torch.randint(0, 200, (amount, 3, size, size), dtype=torch.uint8)
    half = size // 2
    for i, label in enumerate(labels.tolist()):
        place = (slice(half), slice(half, None), (slice(None), slice(half)), (slice(None), slice(half, None)))[label]
        place = place if isinstance(place, tuple) else (place, slice(None))
        pictures[(i, slice(None), *place)] += 20
    return pictures, labels


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pictures, labels = dataset()
    model = nn.Sequential(nn.Conv2d(3, 16, 8, stride=8), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 4)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    epoch = 0
    while time.time() < end:
        order = torch.randperm(len(pictures)).split(random.choice((32, 40, 48)))
        right = 0
        for batch, wanted in Prefetcher(pictures, labels, order, device):
            out = model(batch)
            loss = nn.functional.cross_entropy(out, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += int((out.argmax(1) == wanted).sum())
            time.sleep(random.uniform(0.12, 0.2))
        epoch += 1
        if epoch % 3 == 0:
            print("epoch", epoch, "right", round(right / len(pictures), 3), "loss", round(loss.item(), 3), flush=True)


if __name__ == "__main__":
    main()
