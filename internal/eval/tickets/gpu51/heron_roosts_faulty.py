"""Count herons in a roost at night from a thermal camera on a mast. The camera's frames come from a generator. One
iterator over them goes to the detector, and a second one feeds the background, which is renewed every 25 frames, so
that the two parts can be written and tried apart from each other.

ticket: practice
class: app-leak
holder: background_feed tee frames
cause: buffer-without-bound
"""

import itertools
import os
import random
import time

import torch
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(3)
device = "cuda" if torch.cuda.is_available() else "cpu"
end = time.time() + float(os.environ.get("SECONDS", "45"))

ROWS, COLUMNS = 720, 960
RENEW, REPORT = 25, 40
AIR, BIRD = 11.0, 31.0
BLEND = 0.15

yy, xx = torch.meshgrid(torch.arange(-6.0, 7.0), torch.arange(-6.0, 7.0), indexing="ij")
BLOB = torch.exp(-(yy ** 2 + xx ** 2) / 14.0).to(device)
KERNEL = (BLOB - BLOB.mean())[None, None] / BLOB.sum()


def frames():
    """The camera: air, slow drift of its temperature, and some birds which sit or fly."""
    perches = [(random.randrange(10, ROWS - 10), random.randrange(10, COLUMNS - 10)) for _ in range(30)]
    for tick in itertools.count():
        frame = torch.randn(ROWS, COLUMNS, device=device)  # grows
        frame.mul_(0.6).add_(AIR + 0.5 * (tick % 200) / 200)
        if tick % 10 == 0:
            perches[random.randrange(len(perches))] = (
                random.randrange(10, ROWS - 10), random.randrange(10, COLUMNS - 10))
        for row, column in perches:
            frame[row - 6:row + 7, column - 6:column + 7].add_(BLOB, alpha=BIRD - AIR)
        yield frame


def detect(frame, background):
    """How many local maxima the filtered difference has above the threshold."""
    with torch.no_grad():
        answer = F.conv2d((frame - background)[None, None], KERNEL, padding=6)
        peaks = (answer == F.max_pool2d(answer, 9, 1, 4)) & (answer > 2.5)
    return int(peaks.sum())


live, background_feed = itertools.tee(frames())
background = torch.full((ROWS, COLUMNS), AIR, device=device)
table = {"count": 0.0, "largest": 0, "frames": 0}
renewals = 0

for number, frame in enumerate(live, 1):  # keeps
    if time.time() > end:
        break

    herons = detect(frame, background)
    table["frames"] += 1
    table["count"] += herons
    table["largest"] = max(table["largest"], herons)

    if number % RENEW == 0:
        still = next(background_feed)
        background.mul_(1 - BLEND).add_(still.clamp(max=AIR + 4), alpha=BLEND)
        renewals += 1

    if number % REPORT == 0:
        mean = table["count"] / table["frames"]
        print(f"frame {number}: {herons} herons, mean {mean:.1f}, most {table['largest']}, "
              f"{renewals} renewals of the background", flush=True)
    time.sleep(random.uniform(0.08, 0.14))

print("herons on average:", round(table["count"] / max(table["frames"], 1), 1))
