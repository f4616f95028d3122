"""Recordings of hearings in court are searched for who speaks when. So that little is lost to padding, they are sorted
by their length, and those of about the same length make up a batch: the short ones come first, a batch is a little
longer than the ones before it, and the whole night's work is done when the longest ones are.

ticket: practice
class: pool-growth
holder: -
cause: fragmentation pool-never-trims
"""

import os
import random
import time

import torch
from torch import nn

SPEAKERS, WIDTH, BATCH, FRAME = 6, 128, 16, 80
SHORTEST, STEP, LENGTHS = 1536, 256, 28  # in frames; a batch's features take 2 MiB more for each step


class Ears(nn.Module):
    """Frames of sound to features, and these to who is speaking."""

    def __init__(self):
        super().__init__()
        self.hear = nn.Linear(FRAME, WIDTH)
        self.who = nn.Linear(WIDTH, SPEAKERS)

    def forward(self, sound):
        heard = self.hear(sound)  # grows keeps
        return self.who(torch.tanh_(heard))


def recordings(frames, device):
    """Voices of different pitch that take turns, in a batch of recordings of one length."""
    times = torch.arange(FRAME, device=device) / 8000
    speaker = torch.randint(0, SPEAKERS, (BATCH, frames // 128, 1), device=device).repeat_interleave(128, 1)
    sound = torch.empty(BATCH, frames, FRAME, device=device)
    for lane in range(BATCH):
        torch.sin((90 + 40 * speaker[lane]) * 6.283 * times, out=sound[lane])
    return sound, speaker[..., 0]


def worklist():
    """The lengths of all batches of the night, as they are to be worked through."""
    lengths = [SHORTEST + STEP * number for number in range(LENGTHS)]
    batches = [length for length in lengths for _ in range(random.choice((5, 6, 7)))]
    return sorted(batches)


class Diary:
    """Who spoke for how long, over all recordings."""

    def __init__(self, device):
        self.spoken = torch.zeros(SPEAKERS, dtype=torch.long, device=device)
        self.right = self.frames = 0

    def add(self, guessed, speaker):
        self.spoken += torch.bincount(guessed.flatten(), minlength=SPEAKERS)
        self.right += int((guessed == speaker).sum())
        self.frames += speaker.numel()


@torch.no_grad()
def listen(model, frames, diary, device):
    sound, speaker = recordings(frames, device)
    diary.add(model(sound).argmax(-1), speaker)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, diary, done = Ears().to(device).eval(), Diary(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for frames in worklist():
            listen(model, frames, diary, device)
            done += 1
            if done % 10 == 0:
                print("batch", done, "of", frames, "frames, right", round(diary.right / diary.frames, 3), "spoken",
                      diary.spoken.tolist(), flush=True)
            time.sleep(random.uniform(0.2, 0.5))
            if time.time() > end:
                break


if __name__ == "__main__":
    main()
