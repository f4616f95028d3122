"""Distils a big recogniser of parrot phrases into a small one for the aviary's own box. The teacher's answers are
softened and cached by the number of the recording, as these come again in each epoch; the student hears each with
fresh noise. Gradients are accumulated over a few recordings, the student runs in bfloat16.

ticket: practice
class: none
"""

import functools
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

RECORDINGS, SAMPLES, HOP = 24, 32_000, 400
FRAMES, PHRASES = SAMPLES // HOP, 1200
ACCUMULATE, TEMPERATURE = 4, 3.0


def recogniser(width):
    return nn.Sequential(nn.Linear(HOP, width), nn.GELU(), nn.Linear(width, width), nn.GELU(),
                         nn.Linear(width, PHRASES))


class Aviary(torch.utils.data.Dataset):
    """Recordings as 16-bit sound."""

    def __init__(self):
        noise = np.random.default_rng(3)
        self.sounds = [noise.integers(-9000, 9000, SAMPLES, dtype=np.int16) for _ in range(RECORDINGS)]

    def __len__(self):
        return len(self.sounds)

    def __getitem__(self, number):
        return torch.from_numpy(self.sounds[number]).float().div(32768).view(FRAMES, HOP)


class Teacher:
    def __init__(self, aviary, device):
        self.aviary, self.device = aviary, device
        self.model = recogniser(512).to(device).eval()

    @functools.lru_cache(maxsize=None)
    @torch.no_grad()
    def soft_answers(self, number):
        logits = self.model(self.aviary[number].to(self.device))
        return F.softmax(logits / TEMPERATURE, dim=-1).cpu()


def distil(student, recording, answers, device):
    """The divergence of the student, who hears some noise too, from the teacher."""
    noisy = recording.to(device) + 0.01 * torch.randn(FRAMES, HOP, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        logits = student(noisy)
    log_probs = F.log_softmax(logits.float() / TEMPERATURE, dim=-1)
    return F.kl_div(log_probs, answers.to(device), reduction="batchmean") * TEMPERATURE ** 2


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    aviary = Aviary()
    teacher, student = Teacher(aviary, device), recogniser(128).to(device)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
    order, epoch, steps = [], 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if not order:
            order, epoch = random.sample(range(len(aviary)), len(aviary)), epoch + 1
        optimizer.zero_grad()
        total = 0.0
        for _ in range(ACCUMULATE):
            number = order.pop()
            recording = aviary[number]
            loss = distil(student, recording, teacher.soft_answers(number), device) / ACCUMULATE
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        steps += 1
        if steps % 15 == 0:
            print(f"epoch {epoch}, step {steps}: divergence {total:.4f}", flush=True)
        time.sleep(random.uniform(0.08, 0.2))


if __name__ == "__main__":
    main()
