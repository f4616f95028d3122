"""Back end of a bakery app: it recommends bread. An encoder reads the steps of a recipe, and what a customer looks at
moves the customer's taste towards it. In quiet moments the encoder learns that breads which are bought together lie
close together.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BREADS, STEPS, INGREDIENTS, WIDTH, CUSTOMERS = 300, 64, 40, 192, 80


class Encoder(nn.Module):
    """Reads a recipe as its steps, each a mix of ingredients."""

    def __init__(self):
        super().__init__()
        self.steps = nn.Sequential(nn.Linear(INGREDIENTS, 512), nn.GELU(), nn.Linear(512, WIDTH), nn.GELU())
        self.time = nn.Conv1d(WIDTH, WIDTH, 5, padding=2)

    def forward(self, recipes):
        hidden = self.steps(recipes).transpose(1, 2)
        return F.normalize(F.relu(self.time(hidden)).mean(dim=2), dim=1)


class Shelf:
    def __init__(self, device):
        self.recipes = torch.rand(BREADS, STEPS, INGREDIENTS, device=device)
        self.encoder = Encoder().to(device)
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=1e-4)
        self.tastes = {customer: torch.zeros(WIDTH, device=device) for customer in range(CUSTOMERS)}
        self.refresh()

    @torch.no_grad()
    def refresh(self):
        self.vectors = self.encoder(self.recipes)

    @torch.no_grad()
    def recommend(self, customer, count=5):
        return (self.vectors @ self.tastes[customer]).topk(count).indices.tolist()

    def looked_at(self, customer, breads):
        seen = self.encoder(self.recipes[breads]).mean(dim=0).detach()
        self.tastes[customer] = 0.9 * self.tastes[customer] + 0.1 * seen

    def learn(self, baskets):
        """One step: the two breads of a basket are each other's match."""
        left, right = (self.encoder(self.recipes[list(side)]) for side in zip(*baskets))
        loss = F.cross_entropy(left @ right.T / 0.1, torch.arange(len(baskets), device=left.device))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.refresh()
        return loss.item()


def main():
    torch.set_num_threads(1)
    shelf = Shelf("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    visits, loss = 0, 0.0
    while time.time() < end:
        customer = random.randrange(CUSTOMERS)
        offer = shelf.recommend(customer)
        shelf.looked_at(customer, random.sample(offer, 2) + [random.randrange(BREADS)])
        visits += 1
        if visits % 25 == 0:
            loss = shelf.learn([random.sample(range(BREADS), 2) for _ in range(12)])
        if visits % 50 == 0:
            print(f"{visits} visits, loss {loss:.3f}, last offer {offer}", flush=True)
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
