"""Learns to weave from one pattern book after the other. A trunk reads a few rows of a cloth and stays for all books;
each book has its own threads and so gets a fresh head, which joins the optimizer at a higher learning rate and takes
the place of the last one. The passes are in bfloat16.

ticket: practice
class: app-leak
holder: optimizer param_groups state
cause: optimizer-groups-added
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

ROWS, COLUMNS, WIDTH = 6, 64, 384
THREADS = 900
BATCH, STEPS_PER_BOOK = 48, 10


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(ROWS * COLUMNS, WIDTH), nn.GELU(),
                                    nn.Linear(WIDTH, WIDTH), nn.Tanh())

    def forward(self, cloth):
        return self.layers(cloth)


class Book:
    """A pattern book: which thread follows upon which rows."""

    def __init__(self, device):
        self.rule = torch.randn(ROWS * COLUMNS, THREADS, device=device)

    def batch(self):
        cloth = torch.randint(2, (BATCH, ROWS, COLUMNS), device=self.rule.device).float()
        return cloth, (cloth.flatten(1) @ self.rule).argmax(dim=1)


class Weaver:
    def __init__(self, device):
        self.device = device
        self.trunk = Trunk().to(device)
        self.head = None
        self.optimizer = torch.optim.AdamW([{"params": self.trunk.parameters(), "lr": 3e-4}], weight_decay=0.01)

    def open_book(self):
        self.head = nn.Linear(WIDTH, THREADS).to(self.device)  # grows
        self.optimizer.add_param_group({"params": self.head.parameters(), "lr": 3e-3})  # keeps

    def step(self, cloth, threads):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            logits = self.head(self.trunk(cloth))
        loss = F.cross_entropy(logits.float(), threads)
        loss.backward()
        nn.utils.clip_grad_norm_(self.trunk.parameters(), 1.0)
        self.optimizer.step()  # grows
        return loss.item(), (logits.argmax(dim=1) == threads).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weaver, books = Weaver(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        book = Book(device)
        weaver.open_book()
        for _ in range(STEPS_PER_BOOK):
            loss, right = weaver.step(*book.batch())
            time.sleep(random.uniform(0.02, 0.06))
        books += 1
        if books % 5 == 0:
            print(f"book {books}: loss {loss:.3f}, right {right:.2f}", flush=True)


if __name__ == "__main__":
    main()
