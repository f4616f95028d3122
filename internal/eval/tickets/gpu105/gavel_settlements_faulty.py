"""Settlement of an auction house's days of sale.

Each day has a morning and an evening session. For every lot that is knocked down the appraiser's attention over the
photograph is worked out, since the insurer wants to see at the settlement which parts of the picture made the price.
At the end of the day both sessions are settled: the commission is summed up and the results of the day are done with.

ticket: practice
class: app-leak
holder: results
cause: results-kept
"""
import os
import random
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LOTS_A_SECOND = 8
LOTS_A_SESSION = 60
SESSIONS = ("morning", "evening")
PICTURE = 128
CHANNELS = 8
COMMISSION = 0.22


class Appraiser(nn.Module):
    """Attention over a photograph, and the price that goes with it."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, CHANNELS, 5, padding=2)
        self.gaze = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
        self.price = nn.Linear(CHANNELS, 1)

    def forward(self, picture):
        features = torch.relu(self.stem(picture))
        attention = torch.sigmoid(self.gaze(features))  # grows
        pooled = (features * attention).mean(dim=(2, 3))
        return attention, self.price(pooled).squeeze(1)


class Result:
    """One lot that was knocked down."""

    def __init__(self, day, session, hammer, attention):
        self.day = day
        self.session = session
        self.hammer = hammer
        self.attention = attention

    def focus(self):
        """Share of the picture that drew more than the usual attention."""
        return (self.attention > self.attention.mean()).float().mean()


class Photographs:
    """The pictures of the consigned lots."""

    def __init__(self, count=400):
        self.pictures = torch.rand(count, 3, PICTURE, PICTURE, device=DEVICE)

    def picture(self, lot):
        at = lot % len(self.pictures)
        return self.pictures[at:at + 1]


class House:
    def __init__(self, rng):
        self.rng = rng
        self.photographs = Photographs()
        self.appraiser = Appraiser().to(DEVICE).eval()
        self.results = []
        self.day = 1
        self.session = SESSIONS[0]
        self.lots = 0

    @torch.no_grad()
    def knock_down(self):
        """Sells the next lot."""
        picture = self.photographs.picture(self.rng.randrange(10_000))
        attention, price = self.appraiser(picture)
        hammer = 500.0 * self.rng.lognormvariate(0, 1) * (1 + abs(price.item()))
        self.results.append(Result(self.day, self.session, hammer, attention))  # keeps
        self.lots += 1

    def settle(self):
        """Commission and mean focus of the day; afterwards the next day can begin."""
        today = [result for result in self.results if result.day == self.day]
        commission = COMMISSION * sum(result.hammer for result in today)
        focus = torch.stack([result.focus() for result in today]).mean().item()
        current = (self.day, self.session)
        self.results = [result for result in self.results if (result.day, result.session) != current]
        return commission, focus

    def advance(self):
        """Moves on to the next session once the last lot of this one is sold; the evening ends the day."""
        if self.lots % LOTS_A_SESSION:
            return None
        if self.session == SESSIONS[0]:
            self.session = SESSIONS[1]
            return None
        settled = self.settle()
        self.day += 1
        self.session = SESSIONS[0]
        return settled


def main():
    torch.manual_seed(1793)
    torch.set_num_threads(1)
    house = House(random.Random(1793))
    start = due = time.monotonic()
    while time.monotonic() - start < SECONDS:
        house.knock_down()
        settled = house.advance()
        if settled:
            commission, focus = settled
            print(f"day {house.day - 1} settled: commission {commission:.0f}, focus {focus:.3f}", flush=True)
        elif house.lots % 32 == 0:
            print(f"day {house.day}, {house.session}: {house.lots} lots sold", flush=True)
        due = max(due + 1 / LOTS_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"house closed on day {house.day} after {house.lots} lots", flush=True)


if __name__ == "__main__":
    main()
