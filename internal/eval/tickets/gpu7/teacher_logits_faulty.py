"""A small student learns from a large teacher. What the teacher says of a sample is remembered, as it is asked for in
every epoch. It is remembered under the bytes of the picture, which has been flipped, shifted and dimmed before.

ticket: practice
class: app-leak
holder: remembered teacher
cause: cache-without-bound results-kept
"""

import hashlib
import os
import random
import time

import torch
from torch import nn


class Pictures:
    """A data set in host memory."""

    def __init__(self, count=640, size=24):
        self.pictures = torch.rand(count, 3, size, size)

    def batches(self, size=32):
        order = torch.randperm(len(self.pictures))
        for numbers in order.split(size):
            yield numbers.tolist(), self.pictures[numbers], torch.stack([self.augment(self.pictures[n])
                                                                         for n in numbers])

    @staticmethod
    def augment(picture):
        if random.random() < 0.5:
            picture = picture.flip(-1)
        return picture.roll((random.randint(-3, 3), random.randint(-3, 3)), (1, 2)) * random.uniform(0.6, 1.2)


def network(width, classes=3000):
    return nn.Sequential(nn.Conv2d(3, width, 5, 2), nn.ReLU(), nn.Conv2d(width, width, 3, 2), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * width, classes))


class Teacher:
    def __init__(self, device):
        self.model = network(96).to(device).eval()
        self.remembered = {}
        self.asked = self.known = 0

    @torch.no_grad()
    def logits(self, keys, pictures):
        new = [i for i, key in enumerate(keys) if key not in self.remembered]
        if new:
            for i, row in zip(new, self.model(pictures[new])):  # grows
                self.remembered[keys[i]] = row.clone()  # keeps
        self.asked, self.known = self.asked + len(keys), self.known + len(keys) - len(new)
        return torch.stack([self.remembered[key] for key in keys])


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data, teacher, student = Pictures(), Teacher(device), network(24).to(device)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
    epoch = 0
    while time.time() < end:
        for numbers, plain, augmented in data.batches():
            keys = [hashlib.sha1(picture.numpy().tobytes()).digest() for picture in augmented]
            target = teacher.logits(keys, augmented.to(device))
            logits = student(augmented.to(device))
            loss = nn.functional.kl_div(logits.log_softmax(-1), target.softmax(-1), reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.12)
            if time.time() > end:
                break
        epoch += 1
        if epoch % 4 == 0:
            print("epoch", epoch, "loss", round(loss.item(), 5), teacher.known, "of", teacher.asked, flush=True)


if __name__ == "__main__":
    main()
