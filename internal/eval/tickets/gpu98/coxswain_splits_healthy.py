"""Forecast of 500 metre splits for a rowing regatta.

Crews send in their training pieces as short records of rate, wind, stream and water temperature. A small network learns
the split of a crew from them, heat by heat. The three sets of weights that did best on the held-back pieces row the
final together: their mean is the forecast that the coxswains get before the start.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
FEATURES = 48
HIDDEN = 704
PIECES = 131072
BATCH = 256
HEATS_A_SECOND = 4
BOATS_IN_FINAL = 3


class SplitNet(nn.Module):
    """Seconds over the mean split of the class, from the record of one piece."""

    def __init__(self):
        super().__init__()
        self.catch = nn.Linear(FEATURES, HIDDEN)
        self.drive = nn.Linear(HIDDEN, HIDDEN)
        self.finish = nn.Linear(HIDDEN, 1)

    def forward(self, pieces):
        hidden = torch.relu(self.catch(pieces))
        hidden = torch.relu(self.drive(hidden))
        return self.finish(hidden).squeeze(-1)


class PieceStore:
    """All training pieces of the season, with the last part held back."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        records = torch.randn(PIECES, FEATURES, generator=generator)
        truth = torch.randn(FEATURES, generator=generator) / FEATURES ** 0.5
        gusts = 0.2 * torch.randn(PIECES, generator=generator)
        self.records = records.to(DEVICE)
        self.splits = (torch.tanh(records @ truth) * 4.0 + gusts).to(DEVICE)
        self.held_back = 1024

    def heat(self, number):
        span = PIECES - self.held_back - BATCH
        start = (number * 977) % span
        return self.records[start:start + BATCH], self.splits[start:start + BATCH]

    def trial(self):
        return self.records[-self.held_back:], self.splits[-self.held_back:]


class Coach:
    """Trains the network, ranks its weights and calls the crews of the final."""

    def __init__(self, store):
        self.store = store
        self.net = SplitNet().to(DEVICE)
        self.guest = SplitNet().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.podium = []
        self.heats = 0

    def row_heat(self):
        records, splits = self.store.heat(self.heats)
        loss = nn.functional.smooth_l1_loss(self.net(records), splits)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.heats += 1
        return loss.item()

    @torch.no_grad()
    def time_trial(self):
        records, splits = self.store.trial()
        return (self.net(records) - splits).abs().mean().item()

    def rank(self, error):
        weights = {name: value.detach().clone() for name, value in self.net.state_dict().items()}
        self.podium.append((error, self.heats, weights))
        self.podium.sort(key=lambda place: place[:2])
        del self.podium[BOATS_IN_FINAL:]
        return self.podium[0][0]

    @torch.no_grad()
    def final(self):
        records, splits = self.store.trial()
        total = torch.zeros_like(splits)
        finalists = self.podium[:BOATS_IN_FINAL]
        for _, _, weights in finalists:
            self.guest.load_state_dict(weights)
            total += self.guest(records)
        return (total / len(finalists) - splits).abs().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(500)
    coach = Coach(PieceStore(seed=2000))
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    loss = error = best = 0.0
    while time.monotonic() < end:
        began = time.monotonic()
        loss = coach.row_heat()
        error = coach.time_trial()
        best = coach.rank(error)
        if time.monotonic() >= report_at:
            print(f"heat {coach.heats}: loss {loss:.3f} s, trial {error:.3f} s, best {best:.3f} s, "
                  f"final {coach.final():.3f} s", flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / HEATS_A_SECOND - (time.monotonic() - began)))
    print(f"regatta over after {coach.heats} heats, final forecast off by {coach.final():.3f} s", flush=True)


if __name__ == "__main__":
    main()
