"""The clerks of a county court have the hearings captioned while they are held.  Each courtroom sends frames of sound
features, a small recurrent network carries a state for each hearing, and the clerk gets a caption score and the minutes
when the hearing is over.  A hearing ends by adjournment or because the parties settle, and then its docket number
gets a suffix.

ticket: practice
class: host-growth
holder: _hearings
cause: sessions-kept
"""
import collections
import os
import random
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 6
FEATURES = 128
HIDDEN = 96
CONTEXT_FRAMES = 4096
CHUNK = 32
OPEN_EVERY = 2

torch.set_num_threads(1)
torch.set_grad_enabled(False)


class Captioner(torch.nn.Module):
    """Scores how well the words of a chunk can be made out."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(FEATURES, HIDDEN)
        self.clarity = torch.nn.Linear(HIDDEN, 1)

    def forward(self, frames, state):
        state = self.cell(frames.mean(dim=0, keepdim=True), state)
        return torch.sigmoid(self.clarity(state)).item(), state


class Hearing:
    """One hearing in one courtroom, from the call of the case to its end."""

    def __init__(self, docket, opened, length, settles):
        self.docket = docket
        self.opened = opened
        self.ends = opened + length
        self.settles = settles
        self.over = False
        self.state = torch.zeros(1, HIDDEN)
        self.context = torch.randn(CONTEXT_FRAMES, FEATURES)  # grows
        self.cursor = 0
        self.clarity = 0.0
        self.chunks = 0

    def hear(self, captioner):
        frames = torch.randn(CHUNK, FEATURES)
        self.context[self.cursor:self.cursor + CHUNK] = frames
        self.cursor = (self.cursor + CHUNK) % CONTEXT_FRAMES
        score, self.state = captioner(frames, self.state)
        self.clarity += score
        self.chunks += 1

    def minutes(self):
        loud = self.context.abs().mean().item()
        return round(self.clarity / max(1, self.chunks), 3), round(loud, 3)


class Courthouse:
    """Calls the cases, lets the captioner listen and writes the minutes."""

    def __init__(self, rng):
        self.rng = rng
        self.captioner = Captioner()
        self._hearings = {}
        self.minute_book = collections.deque(maxlen=40)
        self.calls = 0
        self.adjourned = 0
        self.settled = 0

    def call_case(self, now):
        self.calls += 1
        docket = f"CV-{self.calls:06d}"
        hearing = Hearing(docket, now, self.rng.uniform(5.0, 9.0), self.rng.random() < 0.6)
        self._hearings[docket] = hearing  # keeps

    def adjourn(self, hearing):
        self.adjourned += 1
        self._hearings.pop(hearing.docket, None)
        self.minute_book.append((hearing.docket, *hearing.minutes()))

    def settle(self, hearing):
        self.settled += 1
        hearing.docket += "-S"
        self._hearings.pop(hearing.docket, None)
        self.minute_book.append((hearing.docket, *hearing.minutes()))

    def sit(self, now):
        for hearing in list(self._hearings.values()):
            if hearing.over:
                continue
            hearing.hear(self.captioner)
            if now >= hearing.ends:
                hearing.over = True
                if hearing.settles:
                    self.settle(hearing)
                else:
                    self.adjourn(hearing)


def main():
    torch.manual_seed(2202)
    court = Courthouse(random.Random(2202))
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        now = time.monotonic()
        if rounds % OPEN_EVERY == 0:
            court.call_case(now)
        court.sit(now)
        rounds += 1
        if rounds % (ROUNDS_A_SECOND * 3) == 0:
            last = court.minute_book[-1] if court.minute_book else ("none", 0.0, 0.0)
            print(f"called {court.calls}  adjourned {court.adjourned}  settled {court.settled}  "
                  f"last minutes {last[0]} clarity {last[1]}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"court rises: {court.calls} cases called, {court.settled} settled", flush=True)


if __name__ == "__main__":
    main()
