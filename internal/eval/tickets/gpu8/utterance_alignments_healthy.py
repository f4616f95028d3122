"""Recordings are aligned with what was said in them, and the alignments are written to a file for the training of a
speaking voice. The one who writes them forgets what it wrote after each.

ticket: practice
class: none
"""

import os
import pickle
import random
import tempfile
import time

import numpy as np
import torch
from torch import nn

PHONES = 48


class Acoustics(nn.Module):
    """The likelihood of each phone at each time of a recording."""

    def __init__(self, bands=64, width=96):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(bands, width, 5, padding=2), nn.ReLU())
        self.middle = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, PHONES)

    def forward(self, sound):
        hidden, _ = self.middle(self.front(sound).transpose(1, 2))
        return self.head(hidden).log_softmax(-1)


def align(logs, phones):
    """The place in the row of phones at each time, by the best way through."""
    scores = logs[:, phones]
    way = np.full(len(phones), -np.inf, np.float32)
    way[0] = scores[0, 0]
    moved = np.zeros(scores.shape, bool)
    for at in range(1, len(scores)):
        before = np.concatenate([[-np.inf], way[:-1]]).astype(np.float32)
        moved[at] = before > way
        way = np.maximum(way, before) + scores[at]
    place, path = len(phones) - 1, np.zeros(len(scores), np.int16)
    for at in range(len(scores) - 1, -1, -1):
        path[at] = place
        place -= int(moved[at, place])
    return path, float(way[-1]) / len(scores)


class AlignmentFile:
    """Alignments one after another in one file."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.pickler = pickle.Pickler(self.file, protocol=5)
        self.written = 0

    def add(self, record):
        self.pickler.dump(record)
        self.pickler.clear_memo()
        self.written += 1

    def close(self):
        self.file.close()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Acoustics().to(device).eval()
    with tempfile.TemporaryDirectory() as folder:
        out, likely = AlignmentFile(os.path.join(folder, "alignments.pkl")), []
        while time.time() < end:
            amount, length = random.randint(1, 4), random.choice((256, 384, 512, 640))
            with torch.inference_mode():
                logs = model(torch.randn(amount, 64, length, device=device)).cpu().numpy()
            for i in range(amount):
                phones = np.random.randint(0, PHONES, random.randint(20, 60))
                path, score = align(logs[i], phones)
                out.add({"utterance": f"{out.written:07d}", "phones": phones.astype(np.int16), "path": path,
                         "posteriors": np.exp(logs[i]).astype(np.float16), "score": score})
                likely.append(score)
            if len(likely) >= 200:
                print(out.written, "utterances, score", round(sum(likely) / len(likely), 3), flush=True)
                likely = []
            time.sleep(random.uniform(0.01, 0.06))
        out.close()


if __name__ == "__main__":
    main()
