"""One Accelerator serves every trial of a search. It keeps each model and optimizer that it has
prepared.

ticket: huggingface/accelerate#84
class: app-leak
holder: accelerator _models _optimizers
cause: results-kept
"""

import os
import random
import time

import torch
from accelerate import Accelerator

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"


def trial(accelerator, width, lr, seconds):
    model = torch.nn.Sequential(torch.nn.Linear(256, width), torch.nn.GELU(), torch.nn.Linear(width, width),
                                torch.nn.GELU(), torch.nn.Linear(width, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model, optimizer = accelerator.prepare(model, optimizer)  # grows
    stop = min(END, time.time() + seconds)
    losses = []
    while time.time() < stop:
        x = torch.randn(64, 256, device=accelerator.device)
        y = torch.randint(0, 10, (64,), device=accelerator.device)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()  # grows
        optimizer.zero_grad()
        losses.append(loss.item())
        time.sleep(0.03)
    return sum(losses[-20:]) / max(1, len(losses[-20:]))


accelerator = Accelerator(mixed_precision="no")
best = (float("inf"), None)
number = 0
while time.time() < END:
    number += 1
    width = random.choice((1024, 1152, 1280))
    lr = 10 ** random.uniform(-4, -2)
    score = trial(accelerator, width, lr, random.uniform(2.5, 5.0))
    best = min(best, (score, (width, lr)))
    print("trial", number, round(score, 3), flush=True)
    time.sleep(random.uniform(0.2, 0.8))
print("best", best)
