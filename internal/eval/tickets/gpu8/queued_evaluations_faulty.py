"""A model learns to spot words in sound, while a thread beside it hears how good the states of the model so far are.
The thread is slower than the training, so that states wait for it in line.

ticket: practice
class: app-leak
holder: waiting evaluator
cause: unbounded-queue snapshots-kept
"""

import copy
import math
import os
import queue
import random
import threading
import time

import torch
from torch import nn


class Spotter(nn.Module):
    """Tells ten words apart by the sound."""

    def __init__(self, bands=40, width=320):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(bands, width, 5, stride=2), nn.ReLU(),
                                   nn.Conv1d(width, width, 3, stride=2), nn.ReLU(),
                                   nn.Conv1d(width, width, 3), nn.ReLU())
        self.head = nn.Linear(width, 10)

    def forward(self, sound):
        return self.head(self.front(sound).mean(-1))


def sounds(amount, device, length=None):
    """Spectra of words: each word is a way up or down over the bands."""
    length = length or random.choice((48, 64, 80))
    word = torch.randint(0, 10, (amount,), device=device)
    times = torch.linspace(0, 1, length, device=device)
    pitch = 20 + 15 * torch.sin(2 * math.pi * times * (1 + word[:, None] % 5) / 3 + (word[:, None] // 5) * 1.5)
    bands = torch.arange(40, device=device)[:, None]
    sound = torch.exp(-(bands - pitch[:, None]).pow(2) / 8) + 0.3 * torch.randn(amount, 40, length, device=device)
    return sound, word


class Evaluator(threading.Thread):
    """Scores states of the model on sounds held out, at several levels of noise."""

    def __init__(self, device):
        super().__init__(daemon=True)
        self.device, self.waiting, self.scores = device, queue.Queue(), {}
        self.model, self.skipped = Spotter().to(device).eval(), 0
        self.stopped = threading.Event()

    def offer(self, step, state):
        self.waiting.put((step, state))  # keeps

    def run(self):
        while not self.stopped.is_set():
            try:
                step, state = self.waiting.get(timeout=0.5)
            except queue.Empty:
                continue
            self.model.load_state_dict(state)
            right = total = 0
            with torch.inference_mode():
                for level in (0.0, 0.2, 0.4, 0.6, 0.8):
                    sound, word = sounds(32, self.device, 64)
                    found = self.model(sound + level * torch.randn_like(sound)).argmax(-1)
                    right, total = right + int((found == word).sum()), total + len(word)
                    time.sleep(0.3)
            self.scores[step] = right / total


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, evaluator = Spotter().to(device), Evaluator(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    evaluator.start()
    step = 0
    while time.time() < end:
        sound, word = sounds(random.choice((12, 16, 24)), device)
        loss = nn.functional.cross_entropy(model(sound), word)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            evaluator.offer(step, copy.deepcopy(model.state_dict()))  # grows
        if step % 100 == 0:
            scored = max(evaluator.scores, default=0)
            print("step", step, "loss", round(loss.item(), 3), "scored up to", scored,
                  round(evaluator.scores.get(scored, 0), 2), flush=True)
        time.sleep(random.uniform(0.03, 0.08))
    evaluator.stopped.set()
    evaluator.join()


if __name__ == "__main__":
    main()
