"""Pictures with captions come out of one tar without an end, as from a pipe, and are brought near to each other by two
small encoders. The tar file is made to forget the members that it has read.

ticket: practice
class: none
"""

import os
import random
import tarfile
import time
import zlib

import numpy as np
import torch
from torch import nn

WORDS = [a + b for a in ("red", "old", "far", "big", "wet") for b in ("roof", "boat", "hill", "road", "tree", "bird")]


class Source:
    """A tar as bytes: a member is a picture of 24 by 24, with its caption among the headers."""

    def __init__(self):
        self.ready, self.number = bytearray(), 0

    def member(self):
        info = tarfile.TarInfo(f"{self.number:09d}.rgb")
        caption = random.choices(WORDS, k=random.randint(300, 900))
        info.pax_headers = {"caption": " ".join(caption)}
        picture = np.random.randint(0, 256, (3, 24, 24), np.uint8)
        picture[0] //= 1 + WORDS.index(caption[0]) % 4
        info.size = picture.nbytes
        self.number += 1
        return info.tobuf(tarfile.PAX_FORMAT) + picture.tobytes() + bytes(-info.size % tarfile.BLOCKSIZE)

    def read(self, size):
        while len(self.ready) < size:
            self.ready += self.member()
        part = bytes(self.ready[:size])
        del self.ready[:size]
        return part


def samples():
    with tarfile.open(fileobj=Source(), mode="r|") as tar:
        for info in tar:
            picture = np.frombuffer(tar.extractfile(info).read(), np.uint8).reshape(3, 24, 24)
            numbers = [zlib.crc32(word.encode()) % 1024 for word in info.pax_headers["caption"].split()[:64]]
            tar.members = []
            yield torch.from_numpy(picture.copy()), torch.tensor(numbers)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.eye = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(),
                                 nn.Flatten(), nn.Linear(64 * 25, 128))
        self.words = nn.EmbeddingBag(1024, 128)
        self.heat = nn.Parameter(torch.tensor(2.0))

    def forward(self, pictures, numbers):
        seen = nn.functional.normalize(self.eye(pictures / 255), dim=-1)
        read = nn.functional.normalize(self.words(numbers), dim=-1)
        return seen @ read.T * self.heat.exp()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, source, step = Pair().to(device), samples(), 0
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    while time.time() < end:
        size = random.choice((32, 48, 64))
        pictures, numbers = zip(*(next(source) for _ in range(size)))
        scores = model(torch.stack(pictures).to(device), torch.stack(numbers).to(device))
        target = torch.arange(size, device=device)
        loss = nn.functional.cross_entropy(scores, target) + nn.functional.cross_entropy(scores.T, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print("step", step, "loss", round(float(loss.detach()), 3), flush=True)
        time.sleep(random.uniform(0.02, 0.06))


if __name__ == "__main__":
    main()
