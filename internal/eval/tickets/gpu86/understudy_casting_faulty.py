"""Find who takes which part when actors of a repertory theatre fall ill.

Every so often the office is told who is missing tonight, and wants a cast for the play within a quarter of a
second. The program searches a tree: at each node one more part is given to one of three likely understudies, a
network that has seen old casts says how well the cast would play, and the worth is carried up to the root. After
some dozens of such walks the most visited branch names the first change to be rehearsed.

ticket: practice
class: app-leak
holder: parent children
cause: reference-cycle
"""
import gc
import math
import os
import time

import torch
from torch import nn

PARTS = 24
TRAITS = 512
WALKS = 40
CANDIDATES = 3


class CastCritic(nn.Module):
    """Says how well a cast would play, from -1 to 1."""

    def __init__(self):
        super().__init__()
        self.each = nn.Linear(TRAITS, 256)
        self.whole = nn.Linear(256, 128)
        self.worth = nn.Linear(128, 1)

    def forward(self, casts):
        each = torch.relu(self.each(casts)).mean(dim=1)
        return torch.tanh(self.worth(torch.relu(self.whole(each))))[:, 0]


class Node:
    def __init__(self, cast, part, actor, parent=None):
        self.cast = cast
        self.part = part
        self.actor = actor
        self.parent = parent
        self.children = []
        self.visits = 0
        self.total = 0.0

    def add_child(self, cast, actor):
        child = Node(cast, self.part + 1, actor, parent=self)
        self.children.append(child)  # keeps
        return child

    def best_child(self):
        spread = math.sqrt(math.log(self.visits + 1.0))

        def promise(child):
            mean = child.total / max(child.visits, 1)
            return mean + 0.7 * spread / math.sqrt(1.0 + child.visits)

        return max(self.children, key=promise)

    def credit(self, worth):
        node = self
        while node is not None:
            node.visits += 1
            node.total += worth
            node = node.parent


class CastingOffice:
    def __init__(self, device):
        self.device = device
        self.company = torch.randn(90, TRAITS, device=device)
        self.play = torch.randn(PARTS, TRAITS, device=device)
        self.critic = CastCritic().to(device).eval()
        self.asked = 0

    def expand(self, node):
        fit = self.company @ self.play[node.part % PARTS] + 4 * torch.randn(90, device=self.device)
        actors = fit.topk(CANDIDATES).indices.tolist()
        casts = []
        for actor in actors:
            cast = node.cast.clone()  # grows
            cast[node.part % PARTS] = self.company[actor]
            casts.append(cast)
        worths = self.critic(torch.stack(casts)).tolist()
        for cast, actor, worth in zip(casts, actors, worths):
            node.add_child(cast, actor).credit(worth)

    def answer(self):
        """The first change for tonight: the part, the actor, and how deep the search went."""
        self.asked += 1
        tonight = self.company[torch.randint(0, 90, (PARTS,), device=self.device)]
        root = Node(tonight, self.asked % PARTS, None)
        deepest = 0
        for _ in range(WALKS):
            node = root
            depth = 0
            while node.children:
                node = node.best_child()
                depth += 1
            self.expand(node)
            deepest = max(deepest, depth)
        first = max(root.children, key=lambda child: child.visits)
        return root.part, first.actor, first.total / first.visits, deepest


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(31)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    office = CastingOffice(device)
    gc.collect()
    gc.disable()
    with torch.no_grad():
        while time.time() < until:
            part, actor, worth, depth = office.answer()
            if office.asked % 10 == 0:
                print(f"question {office.asked}: part {part} to actor {actor}, worth {worth:.3f}, "
                      f"{depth} parts deep", flush=True)
            time.sleep(0.2)


if __name__ == "__main__":
    main()
