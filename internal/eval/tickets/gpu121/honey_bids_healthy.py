"""Learns what bidders pay at a honey auction. Bidders and lots meet in a factor model: a wide table holds one
row for each bidder, of which a batch touches few, and a small network reads the lot (flower, moisture, colour).
The rows are trained with a sparse method, the network with a dense one.

ticket: practice
class: none
"""
import os
import time

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

PERIOD = 0.25
BIDDERS = 80_000
WIDTH = 64
LOT_FEATURES = 9
BATCH = 4800


class BidModel(nn.Module):
    """Price of a lot for a bidder, as a product of two factors and an offset for the lot."""

    def __init__(self):
        super().__init__()
        self.bidder_table = nn.Embedding(BIDDERS, WIDTH, sparse=True)
        self.lot_net = nn.Sequential(nn.Linear(LOT_FEATURES, 96), nn.Tanh(), nn.Linear(96, WIDTH + 1))
        nn.init.normal_(self.bidder_table.weight, std=0.05)

    def forward(self, bidder, lot):
        taste = self.bidder_table(bidder)
        factors = self.lot_net(lot)
        return (taste * factors[:, :WIDTH]).sum(dim=1) + factors[:, WIDTH]


class AuctionRoom:
    """Draws bids of a made-up market: rich and poor bidders, dear and cheap lots."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.purse = torch.rand(BIDDERS, generator=self.generator, device=DEVICE)
        self.worth = torch.randn(LOT_FEATURES, generator=self.generator, device=DEVICE)

    def bids(self, count):
        bidder = torch.randint(0, BIDDERS, (count,), generator=self.generator, device=DEVICE)
        lot = torch.randn(count, LOT_FEATURES, generator=self.generator, device=DEVICE)
        price = torch.tanh(lot @ self.worth) * (0.5 + self.purse[bidder])
        return bidder, lot, price


class Trainer:
    def __init__(self, model):
        self.model = model
        self.table_step = torch.optim.SparseAdam(list(model.bidder_table.parameters()), lr=2e-4)
        self.net_step = torch.optim.Adam(model.lot_net.parameters(), lr=2e-3)
        self.smooth = None

    def step(self, bidder, lot, price):
        self.model.zero_grad(set_to_none=True)
        loss = nn.functional.smooth_l1_loss(self.model(bidder, lot), price)
        loss.backward()
        self.table_step.step()
        self.net_step.step()
        value = loss.item()
        self.smooth = value if self.smooth is None else 0.9 * self.smooth + 0.1 * value

    @torch.no_grad()
    def check(self, bidder, lot, price):
        """Share of bids foretold on the right side of the mean price."""
        guess = self.model(bidder, lot)
        return float(((guess > price.mean()) == (price > price.mean())).float().mean())


class Board:
    """Prints how the learning stands, every few seconds."""

    def __init__(self, every):
        self.every = every
        self.last = time.monotonic()

    def due(self):
        now = time.monotonic()
        if now - self.last < self.every:
            return False
        self.last = now
        return True


def main():
    torch.manual_seed(41)
    room = AuctionRoom(seed=42)
    trainer = Trainer(BidModel().to(DEVICE))
    held_out = room.bids(2000)
    board = Board(every=3.0)
    began = time.monotonic()
    due = began
    rounds = 0
    while time.monotonic() - began < SECONDS:
        trainer.step(*room.bids(BATCH))
        rounds += 1
        if board.due():
            share = trainer.check(*held_out)
            print(f"round {rounds}: loss {trainer.smooth:.4f}, right side {share:.1%}", flush=True)
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
    share = trainer.check(*held_out)
    print(f"auction learnt from {rounds * BATCH} bids: loss {trainer.smooth:.4f}, right side {share:.1%}", flush=True)


if __name__ == "__main__":
    main()
