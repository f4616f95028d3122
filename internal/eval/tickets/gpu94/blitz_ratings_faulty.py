"""Ratings of the blitz evenings of a chess club's web site.

One evening after another is played: a field of visitors comes in, plays a number of rounds, and is ranked.
Every visitor has a vector of style for the evening (openings, tempo, endings), which is fitted by gradient
descent to the results of the rounds, together with the weights that turn a difference of two styles into a
chance to win. The weights belong to the site and are learned across all evenings.

ticket: practice
class: app-leak
holder: param_groups state
cause: optimizer-groups-added
"""
import os
import time
from dataclasses import dataclass, field

import torch
from torch import nn
import torch.nn.functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"

VISITORS = 4096
STYLE = 160
ROUNDS = 12
ROUNDS_PER_SECOND = 11.0


class Judge(nn.Module):
    """Chance that white wins, from the styles of the two players."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(STYLE, 48)
        self.verdict = nn.Linear(48, 1)
        self.first_move = nn.Parameter(torch.tensor(0.1))

    def forward(self, white, black):
        return self.verdict(torch.tanh(self.mix(white - black))).squeeze(-1) + self.first_move


@dataclass
class Evening:
    number: int
    styles: nn.Parameter
    strengths: torch.Tensor
    points: torch.Tensor
    losses: list = field(default_factory=list)

    def pairing(self):
        """Swiss system: neighbours of the table meet, with a little shuffling among equals."""
        table = torch.argsort(self.points + 0.3 * torch.rand_like(self.points), descending=True)
        return table[0::2], table[1::2]

    def play(self, white, black):
        edge = self.strengths[white] - self.strengths[black] + 0.15
        wins = (torch.rand_like(edge) < torch.sigmoid(edge)).float()
        self.points[white] += wins
        self.points[black] += 1.0 - wins
        return wins

    def agreement(self):
        """Correlation of the points with the strengths which the visitors came with."""
        pair = torch.stack([self.points, self.strengths])
        pair = pair - pair.mean(dim=1, keepdim=True)
        norm = pair.norm(dim=1)
        return ((pair[0] * pair[1]).sum() / (norm[0] * norm[1])).item()


class RatingSite:
    def __init__(self):
        self.judge = Judge().to(device)
        self.optimizer = torch.optim.Adam(self.judge.parameters(), lr=1e-3)
        self.evenings = 0

    def open_evening(self):
        self.evenings += 1
        styles = nn.Parameter(0.05 * torch.randn(VISITORS, STYLE, device=device))  # grows
        self.optimizer.add_param_group({"params": [styles], "lr": 0.03})  # keeps
        return Evening(self.evenings, styles, strengths=1.2 * torch.randn(VISITORS, device=device),
                       points=torch.zeros(VISITORS, device=device))

    def fit_round(self, evening):
        white, black = evening.pairing()
        wins = evening.play(white, black)
        logits = self.judge(evening.styles[white], evening.styles[black])
        loss = F.binary_cross_entropy_with_logits(logits, wins) + 1e-3 * evening.styles.square().mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()  # grows keeps
        evening.losses.append(loss.item())

    def close_evening(self, evening):
        winner = int(torch.argmax(evening.points))
        return {"number": evening.number, "winner": winner, "points": evening.points[winner].item(),
                "agreement": evening.agreement(), "loss": sum(evening.losses) / len(evening.losses)}


def pace(since, rate):
    rest = 1.0 / rate - (time.time() - since)
    if rest > 0:
        time.sleep(rest)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.manual_seed(64)
    site = RatingSite()
    while time.time() < end:
        evening = site.open_evening()
        for _ in range(ROUNDS):
            since = time.time()
            site.fit_round(evening)
            pace(since, ROUNDS_PER_SECOND)
        result = site.close_evening(evening)
        if evening.number % 3 == 1:
            print("evening {number}: visitor {winner} wins with {points:.0f} points, agreement {agreement:.2f}, "
                  "loss {loss:.3f}".format(**result), flush=True)


if __name__ == "__main__":
    main()
