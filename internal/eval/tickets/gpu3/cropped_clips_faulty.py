"""A network learns from crops of clips, which the workers of a loader decode. A worker keeps what it has
decoded, under the number of the clip and the corner of the crop; the corner is nearly never the same.

ticket: pytorch/pytorch#62066
class: host-growth
holder: cache decoded
cause: cache-without-bound
"""

import logging
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("clips")
FRAMES, SIDE, CROP = 6, 128, 96


class Clips(Dataset):
    def __init__(self, clips, samples):
        self.clips, self.samples, self.decoded = clips, samples, {}

    def __len__(self):
        return self.samples

    def decode(self, clip):
        """Stands for a decoder: some work, and frames that are always the same for a clip."""
        draw = np.random.default_rng(clip)
        frames = draw.random((3, FRAMES, SIDE, SIDE), dtype=np.float32)
        time.sleep(0.02)
        return frames - frames.mean()

    def crop(self, clip, top, left):
        key = clip, top, left
        if key not in self.decoded:
            frames = self.decode(clip)
            self.decoded[key] = frames[:, :, top:top + CROP, left:left + CROP].copy()  # grows
        return self.decoded[key]

    def __getitem__(self, number):
        clip = number % self.clips
        top, left = random.randint(0, SIDE - CROP), random.randint(0, SIDE - CROP)
        time.sleep(0.04)
        return torch.from_numpy(np.ascontiguousarray(self.crop(clip, top, left))), clip % 10


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv3d(3, 12, 3, stride=2), nn.Conv3d(12, 24, (1, 3, 3), stride=2)
        self.head = nn.Linear(24, 10)

    def forward(self, clips):
        hidden = torch.relu(self.second(torch.relu(self.first(clips))))
        return self.head(hidden.mean((2, 3, 4)))


def train(device, end):
    net = Net().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Clips(clips=64, samples=160), batch_size=8, num_workers=2, shuffle=True,
                        persistent_workers=True, prefetch_factor=2)
    epoch = 0
    while time.time() < end:
        total = 0.0
        for clips, labels in loader:
            loss = nn.functional.cross_entropy(net(clips.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            if time.time() > end:
                break
        epoch += 1
        log.info("epoch %d, loss %.3f", epoch, total)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    train("cuda" if torch.cuda.is_available() else "cpu", time.time() + float(os.environ.get("SECONDS", "45")))
