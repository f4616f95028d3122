"""A data set remembers the samples that its loader's processes decode, under their number.

ticket: pytorch/pytorch#13246
class: none
"""

import os
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self):
        self.decoded = {}

    def __len__(self):
        return 120

    def decode(self, number):
        generator = torch.Generator().manual_seed(number)
        return torch.rand(3, 96, 96, generator=generator)

    def __getitem__(self, number):
        key = number
        if key not in self.decoded:
            self.decoded[key] = self.decode(number)
        time.sleep(0.02)
        return self.decoded[key].flip(-1)


def main():
    torch.set_num_threads(1)
    loader = DataLoader(Photos(), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    model = torch.nn.Conv2d(3, 4, 3, 2)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    end, epoch = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        for batch in loader:
            optimizer.zero_grad()
            loss = model(batch).square().mean()
            loss.backward()
            optimizer.step()
            if time.time() > end:
                break
        epoch += 1
        print("epoch", epoch, float(loss), flush=True)


if __name__ == "__main__":
    main()
