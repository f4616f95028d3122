"""Microphones in 256 beehives send a spectrum of their hum several times a second. A recurrent cell learns to foretell
the next spectrum from a few recorded nights; then it listens to all hives at once and names the hive that surprises it
most. It remembers what it heard, as a swarm builds up over hours.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

HIVES, BANDS, WIDTH, WINDOW = 256, 64, 256, 8

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
end = time.time() + float(os.environ.get("SECONDS", "45"))

cell = nn.GRUCell(BANDS, WIDTH).to(device)
head = nn.Linear(WIDTH, BANDS).to(device)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=2e-3)

pitch = torch.rand(HIVES, 1, device=device) * 20 + 20
bands = torch.arange(BANDS, device=device)


def spectrum(hives, moment):
    """What the microphones of these hives send at this moment: a hump about the pitch, and noise."""
    centre = pitch[hives] + 4 * torch.sin(torch.tensor(moment / 15.0, device=device))
    return torch.exp(-((bands - centre) / 5) ** 2) + 0.05 * torch.randn(len(hives), BANDS, device=device)


# %% learn from the recorded nights

for night in range(12):
    some = torch.randint(HIVES, (32,), device=device)
    memory = torch.zeros(32, WIDTH, device=device)
    loss = 0.0
    for moment in range(WINDOW):
        memory = cell(spectrum(some, moment + night), memory)
        loss = loss + F.mse_loss(head(memory), spectrum(some, moment + night + 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if night % 4 == 0:
        print(f"night {night}: loss {loss.item() / WINDOW:.4f}", flush=True)

# %% listen

cell.eval()
head.eval()
everyone = torch.arange(HIVES, device=device)
memory = torch.zeros(HIVES, WIDTH, device=device)
foretold = torch.zeros(HIVES, BANDS)
moment = 0
alarms = 0

while time.time() < end:
    heard = spectrum(everyone, moment)
    with torch.no_grad():
        memory = cell(heard, memory)
    surprise = (heard.cpu() - foretold).square().mean(dim=1)
    foretold = head(memory).cpu().detach()
    strangest = int(surprise.argmax())
    if surprise[strangest] > 3 * surprise.mean():
        alarms += 1
    moment += 1
    if moment % 25 == 0:
        print(f"moment {moment}: hive {strangest} is strange, {alarms} alarms", flush=True)
    time.sleep(random.uniform(0.06, 0.14))
