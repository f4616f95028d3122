"""A camera over a loom takes the cloth strip by strip, and a network draws a map of where the weave looks wrong. All
that is noted goes to the log; the console shows only the important lines, and when a strip is bad, the last notes of
the log are shown along with it.

ticket: practice
class: host-growth
holder: notes Tail
cause: log-records-kept buffer-without-bound
"""

import logging
import os
import random
import sys
import time

import torch
from torch import nn

SIDE = 448

torch.manual_seed(5)
torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
end = time.time() + float(os.environ.get("SECONDS", "45"))

# %% the log

notes = []


class Tail(logging.Handler):
    def emit(self, record):
        notes.append(record)  # keeps


console = logging.StreamHandler(sys.stdout)
console.setLevel(logging.INFO)
console.setFormatter(logging.Formatter("%(asctime)s %(message)s"))

log = logging.getLogger("loom")
log.setLevel(logging.DEBUG)
log.propagate = False
log.addHandler(console)
log.addHandler(Tail())

# %% the network and the cloth

model = nn.Sequential(
    nn.Conv2d(1, 6, 5, stride=2, padding=2), nn.ReLU(),
    nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(),
    nn.ConvTranspose2d(6, 1, 4, stride=2, padding=1), nn.Sigmoid(),
).to(device).eval()

line = torch.arange(SIDE, device=device)
weave = 0.5 + 0.25 * torch.sin(line * 0.9)[:, None] + 0.25 * torch.sin(line * 0.7)


def next_strip():
    strip = weave + 0.05 * torch.randn(SIDE, SIDE, device=device)
    torn = random.random() < 0.02
    if torn:
        place = random.randrange(SIDE - 40)
        strip[place:place + 40] = 0
    return strip[None, None], torn


# %% watch

strips = 0
torn_strips = 0

while time.time() < end:
    for _ in range(random.randint(5, 12)):
        strip, torn = next_strip()
        with torch.no_grad():
            wrong = model(strip)[0, 0]
        strips += 1
        log.debug("strip %d: %s", strips, wrong.cpu().numpy())  # grows
        if torn:
            torn_strips += 1
            log.warning("strip %d is torn, the third in the row would stop the loom", strips)
            for note in list(notes)[-4:]:
                print("   ", note.getMessage().splitlines()[0], flush=True)
        time.sleep(0.05)
    log.info("%d strips, %d torn", strips, torn_strips)
    time.sleep(0.3)
