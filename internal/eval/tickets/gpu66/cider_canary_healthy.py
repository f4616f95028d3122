"""A cider mill grades its apples by model. Feature flags name the candidates that may follow: a share of the traffic is
scored by a flag's candidate as well, in the shadow of the live one, and how far the two drift apart is averaged over
time. A flag goes on the board once its drift has settled.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

FEATURES, HIDDEN, GRADES, MEMORY = 384, 768, 5, 0.98


def grader():
    return nn.Sequential(
        nn.Linear(FEATURES, HIDDEN),
        nn.LayerNorm(HIDDEN),
        nn.SiLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.SiLU(),
        nn.Linear(HIDDEN, GRADES),
    )


class Flag:
    """A candidate, how much of the traffic it sees, and how it drifts from the live model."""

    def __init__(self, name, share, live, device):
        self.name, self.share, self.seen = name, share, 0
        self.candidate = grader().to(device).eval()
        self.candidate.load_state_dict(live.state_dict())
        with torch.no_grad():
            for weight in self.candidate.parameters():
                weight += 0.02 * torch.randn_like(weight)
        self.drift = torch.zeros((), device=device)

    @torch.no_grad()
    def shadow(self, apples, grades):
        scores = self.candidate(apples).softmax(dim=1)
        apart = (scores - grades).abs().sum(dim=1).mean()
        self.drift = MEMORY * self.drift + (1 - MEMORY) * apart
        self.seen += len(apples)

    def __str__(self):
        return f"{self.name} {float(self.drift):.4f} after {self.seen}"


class Mill:
    def __init__(self, device):
        self.device = device
        self.live = grader().to(device).eval()
        self.flags = [Flag(name, share, self.live, device) for name, share in (("press", 0.6), ("yeast", 0.3))]

    @torch.no_grad()
    def grade(self, apples):
        return self.live(apples).softmax(dim=1)

    def handle(self, apples):
        apples = apples.to(self.device)
        grades = self.grade(apples)
        for flag in self.flags:
            if random.random() < flag.share:
                flag.shadow(apples, grades)
        return grades.argmax(dim=1).tolist()


def main():
    torch.set_num_threads(1)
    mill = Mill("cuda" if torch.cuda.is_available() else "cpu")
    handled, printed = 0, time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.choice((1, 1, 2, 4))):
            handled += len(mill.handle(torch.randn(random.randint(64, 160), FEATURES)))
        if time.time() - printed > 3:
            print(handled, "apples;", "; ".join(str(flag) for flag in mill.flags), flush=True)
            printed = time.time()
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
