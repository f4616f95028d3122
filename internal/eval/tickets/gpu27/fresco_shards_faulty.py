"""Photographs of frescoes become features: each is cut into patches, a small transformer looks at them, and the
features of all patches are sent to the feature store, with what the restorers wrote about the wall. The store reads a
stream of pickled records.

ticket: practice
class: host-growth
holder: pickler Store store
cause: pickler-memo-kept
"""

import os
import pickle
import random
import time
import zlib

import torch
from torch import nn

SIDE, PATCH, WIDTH = 224, 16, 256
CHURCHES = "San Zeno", "Santa Cristina", "Saint-Savin", "Berzé-la-Ville"


class Seer(nn.Module):
    def __init__(self):
        super().__init__()
        self.cut = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.places = nn.Parameter(0.02 * torch.randn((SIDE // PATCH) ** 2, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 4, WIDTH, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, photos):
        patches = self.cut(photos).flatten(2).transpose(1, 2)
        return self.layers(patches + self.places)


class Line:
    """The way to the store: it takes bytes, and knows how many went and what their sum is."""

    def __init__(self):
        self.sent, self.checksum = 0, 0

    def write(self, data):
        size = memoryview(data).nbytes
        self.sent += size
        self.checksum = zlib.crc32(data, self.checksum)
        return size


class Store:
    def __init__(self, line):
        self.line = line
        self.pickler = pickle.Pickler(line, protocol=pickle.HIGHEST_PROTOCOL)
        self.records = 0

    def put(self, record):
        self.pickler.dump(record)  # keeps
        self.records += 1


def photographs(device, count):
    walls = torch.rand(count, 3, SIDE // 8, SIDE // 8).repeat_interleave(8, dim=2).repeat_interleave(8, dim=3)
    return (walls + 0.1 * torch.randn(count, 3, SIDE, SIDE)).to(device)


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, store, photo = Seer().to(device).eval(), Store(Line()), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        photos = photographs(device, count=random.randrange(4, 10))
        features = model(photos).cpu().numpy()  # grows
        notes = [f"{random.choice(CHURCHES)}, wall {random.randrange(9)}" for _ in features]
        store.put({"first": photo, "features": features, "notes": notes})
        photo += len(features)
        if store.records % 5 == 0:
            print(f"{photo} photographs, {store.line.sent >> 20} MiB sent, sum {store.line.checksum:08x}", flush=True)
        time.sleep(0.15)


if __name__ == "__main__":
    main()
