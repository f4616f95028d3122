"""Collectors send pictures of stamps to have them appraised. Two workers take them from a queue, and a picture in which
the stamp is too faint or cut off is tried again in a brighter version, twice at most. What still fails then is noted
for the daily report, which says how often each kind of trouble was met.

ticket: practice
class: app-leak
holder: troubles traceback tb_frame Faint
cause: tracebacks-kept exception-kept results-kept
"""

import os
import queue
import random
import threading
import time
from collections import Counter

import torch
from torch import nn

SIDES = (256, 320, 384)
TRIES, EDGE = 3, 12


class Faint(ValueError):
    pass


class CutOff(ValueError):
    pass


class Appraiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.eye = nn.Sequential(nn.Conv2d(3, 24, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(24, 16, 3, padding=1))
        self.price = nn.Linear(16, 1)

    def appraise(self, picture):
        """The price of the stamp in the picture."""
        features = self.eye(picture[None])  # grows
        light, edge = picture.mean().item(), picture[:, :EDGE].mean().item()
        if edge < 0.01:
            raise CutOff(f"nothing in the first {EDGE} rows")
        if light < 0.3:
            raise Faint(f"light of {light:.2f} is too low")
        return self.price(features.mean(dim=(2, 3))).item()


class Desk:
    def __init__(self, device):
        self.device = device
        self.model = Appraiser().to(device).eval()
        self.letters = queue.Queue(maxsize=8)
        self.prices, self.troubles = Counter(), []
        self.lock = threading.Lock()

    @torch.inference_mode()
    def work(self):
        while (letter := self.letters.get()) is not None:
            picture = letter.to(self.device)
            for attempt in range(1, TRIES + 1):
                try:
                    price = self.model.appraise(picture * attempt)  # grows
                except (Faint, CutOff) as trouble:
                    if attempt == TRIES:
                        with self.lock:
                            self.troubles.append(trouble)  # keeps
                else:
                    with self.lock:
                        self.prices["high" if price > 0 else "low"] += 1
                    break

    def report(self):
        kinds = Counter(type(trouble).__name__ for trouble in self.troubles)
        return f"{dict(self.prices)} appraised, {dict(kinds)} failed"


def letter():
    """A picture as it comes in the post: more or less dark, sometimes with its upper edge cut off."""
    side = random.choice(SIDES)
    picture = torch.rand(3, side, side) * random.uniform(0.05, 1.0)
    if random.random() < 0.15:
        picture[:, :EDGE] = 0.0
    return picture


def main():
    torch.set_num_threads(1)
    desk = Desk("cuda" if torch.cuda.is_available() else "cpu")
    workers = [threading.Thread(target=desk.work) for _ in range(2)]
    for worker in workers:
        worker.start()
    sent = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        desk.letters.put(letter())
        sent += 1
        if sent % 40 == 0:
            print(sent, "letters:", desk.report(), flush=True)
        time.sleep(random.uniform(0.03, 0.12))
    for _ in workers:
        desk.letters.put(None)
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
