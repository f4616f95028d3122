"""Photos are worked on by a program that knows a handful of edits and does them on the device. Each edit leaves behind
a function that takes it back. The way back is for the last dozen edits of the photo that is open.

ticket: practice
class: none
"""

import collections
import os
import random
import time

import torch
from torch import nn

SIZES = ((480, 720), (512, 768))
STEPS_BACK = 12
GREY = (0.299, 0.587, 0.114)


def photo(device):
    """Something like a photo: soft colours with some edges in them."""
    height, width = random.choice(SIZES)
    soft = nn.functional.interpolate(torch.rand(1, 3, 5, 7, device=device), (height, width), mode="bicubic")
    edges = nn.functional.interpolate(torch.rand(1, 1, 40, 60, device=device), (height, width), mode="nearest")
    return (0.8 * soft + 0.2 * edges).clamp(0, 1)


def blur(picture, radius):
    places = torch.arange(-2 * radius, 2 * radius + 1, device=picture.device, dtype=torch.float32)
    weights = torch.exp(-0.5 * (places / radius) ** 2)
    weights = (weights / weights.sum()).repeat(3, 1)
    picture = nn.functional.pad(picture, (2 * radius,) * 4, mode="reflect")
    picture = nn.functional.conv2d(picture, weights[:, None, None, :], groups=3)
    return nn.functional.conv2d(picture, weights[:, None, :, None], groups=3)


def exposure(picture):
    return picture * 2 ** random.uniform(-0.4, 0.4)


def saturation(picture):
    grey = (picture * torch.tensor(GREY, device=picture.device).view(1, 3, 1, 1)).sum(1, keepdim=True)
    return grey + random.uniform(0.6, 1.5) * (picture - grey)


def sharpen(picture):
    return picture + random.uniform(0.2, 0.8) * (picture - blur(picture, random.choice((2, 3, 4))))


def dodge(picture):
    """Makes one place of the picture lighter, with a soft brush."""
    height, width = picture.shape[2:]
    down = torch.linspace(0, 1, height, device=picture.device).view(-1, 1) - random.random()
    right = torch.linspace(0, 1, width, device=picture.device) - random.random()
    return picture + 0.3 * torch.exp(-(down ** 2 + right ** 2) / 0.02)


EDITS = (exposure, saturation, sharpen, dodge)


class Darkroom:
    """A picture that is worked on, and the way back."""

    def __init__(self, device):
        self.device, self.undo, self.edits, self.taken_back = device, collections.deque(maxlen=STEPS_BACK), 0, 0
        self.open()

    def open(self):
        self.undo.clear()
        self.picture = photo(self.device)

    def apply(self, edit):
        before = self.picture

        def back():
            self.picture = before

        self.picture = edit(before).clamp(0, 1)
        self.undo.append(back)
        self.edits += 1

    def back(self):
        if self.undo:
            self.undo.pop()()
            self.taken_back += 1


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    room, photos = Darkroom("cuda" if torch.cuda.is_available() else "cpu"), 1
    while time.time() < end:
        for _ in range(random.randint(8, 20)):
            room.apply(random.choice(EDITS))
            if not 0.2 < float(room.picture.mean()) < 0.8 or random.random() < 0.1:
                room.back()
            time.sleep(random.uniform(0.1, 0.4))
            if time.time() > end:
                break
        print("photo", photos, "edits", room.edits, "taken back", room.taken_back, flush=True)
        room.open()
        photos += 1


if __name__ == "__main__":
    main()
